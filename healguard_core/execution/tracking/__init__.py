"""Follows what heals wrote through the rest of a run, and stops it before it reaches a protected operation."""
