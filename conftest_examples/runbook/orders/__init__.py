"""A small program with four crashes."""
