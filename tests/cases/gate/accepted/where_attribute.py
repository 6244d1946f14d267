# accepted
# a condition of a runbook
# purpose: expression
self._state.name == 'open' and getattr(self, 'retries', 0) < 3
