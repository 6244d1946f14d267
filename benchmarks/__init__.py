"""Measurements: ratios against a baseline in the same run."""
