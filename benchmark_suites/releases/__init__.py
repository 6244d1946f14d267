"""Suite ``releases``: real bugs of released packages, each with a target test and a reviewed runbook."""
