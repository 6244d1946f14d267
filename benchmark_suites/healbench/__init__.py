"""Suite ``healbench``: records of SWE-bench, SWE-bench Pro and R2E-Gym that the user has, run in their containers."""
