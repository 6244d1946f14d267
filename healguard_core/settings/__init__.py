"""Policy, runbook and limits as users write them, validated into plain JSON. Python 3.11 and newer."""
