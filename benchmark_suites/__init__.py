"""Measuring healing agents on real bugs."""
