"""Which files are instrumented, how their code is rewritten, and how the result is imported."""
