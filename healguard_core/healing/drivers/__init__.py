"""Programs that run an agent package in whatever Python has it, and speak JSON lines with the healing side.

They may import the package that they drive, conversation and protocol; the Python that runs them need not have anything
else of ours installed.
"""
