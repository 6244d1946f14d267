"""``python -m healguard_core.execution``: see `run`."""

from healguard_core.execution.run import main

if __name__ == "__main__":
    main()
