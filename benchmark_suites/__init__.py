"""Measuring healing agents on real bugs. A consumer: drives the plugin by its command line, reads its reports."""

SUITES = {"releases": "real bugs of released packages, each with a reviewed heal"}
"""The suites by name, with what they hold."""
