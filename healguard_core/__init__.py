"""HealGuard core: pausing, healing and guarding a running Python program. Never imports pytest.

Kept empty on purpose: ``healguard_core.execution`` runs inside the program under test, on Python 3.8
and newer, with the standard library alone, so importing this package must cost nothing.
"""

__version__ = "0.1.0"
