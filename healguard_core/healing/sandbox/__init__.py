"""Runs programs that may read a repository and change nothing. Imports nothing."""
