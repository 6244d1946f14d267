# accepted
# a condition of a runbook
# purpose: expression
'Amount' in order
