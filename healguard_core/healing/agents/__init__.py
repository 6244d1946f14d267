"""The agents of the healing side, one module each, none of which knows another. Imports nothing."""
