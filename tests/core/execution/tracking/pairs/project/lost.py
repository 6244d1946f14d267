"""What the flows look for and do not find."""

lost = {}
