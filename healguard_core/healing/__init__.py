"""The healing side: agents that live outside the process under test."""
