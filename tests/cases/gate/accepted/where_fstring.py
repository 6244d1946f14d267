# accepted
# a condition of a runbook
# purpose: expression
f'{a}-{b}' in {x.key for x in items} or type(a).__name__ == 'Node'
