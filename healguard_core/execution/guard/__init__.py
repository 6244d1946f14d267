"""HealGuard: what healing code may be, and what its values may reach."""
