# accepted
# keep an input check a check
_eh_raise = ValueError(f'need two values, got {s!r}')
