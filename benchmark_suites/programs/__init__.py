"""Suite ``programs``: Healer's setting, small self-contained programs with a test."""
