"""Suite ``guard``: does HealGuard stop exactly what healed values decide? See docs/guard-suite.md."""
