"""``mine``: private suites from the history of a git repository, with a ledger of what each rule removed."""
