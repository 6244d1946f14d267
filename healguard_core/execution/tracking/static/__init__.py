"""Looks ahead from a paused program: does what a heal bound surely reach a protected operation, or surely not?"""
