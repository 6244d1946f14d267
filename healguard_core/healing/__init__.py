"""The healing side: agents and models, in one process per run that starts at the first crash. Imports nothing."""
