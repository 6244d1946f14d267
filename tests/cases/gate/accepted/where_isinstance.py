# accepted
# a condition of a runbook
# purpose: expression
isinstance(value, (list, tuple)) and all(isinstance(v, int) for v in value)
