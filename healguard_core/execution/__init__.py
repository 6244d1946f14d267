"""Everything that runs inside the process under test: standard library only, Python 3.8 syntax."""
