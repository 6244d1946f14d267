"""Healing agents that need no model and no process of their own."""
