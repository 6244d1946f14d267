# accepted
# a condition of a runbook
# purpose: expression
len(rows) > 0 and rows[0].get('kind', '').lower().startswith('a')
