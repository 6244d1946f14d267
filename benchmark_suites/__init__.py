"""Measuring healing agents on real bugs. A consumer: drives the plugin by its command line, reads its reports."""

SUITES = {
    "releases": "real bugs of released packages, each with a reviewed heal",
    "healbench": "records of SWE-bench, SWE-bench Pro and R2E-Gym that you have, in their containers",
    "programs": "small programs with a mistake and a test, each with a reviewed heal",
    "guard": "pairs of unsafe and safe flows of healed values at the crashes of `releases`",
}
"""The suites by name, with what they hold."""
