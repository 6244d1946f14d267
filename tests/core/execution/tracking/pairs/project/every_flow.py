"""Runs every flow as a test of its own."""
import importlib
import pytest

MODULES = ("names", "containers", "objects", "calls", "callers", "returned", "classes", "running", "library", "protected")
CASES = [(module, name) for module in MODULES
         for name in sorted(vars(importlib.import_module("flows." + module))) if name.startswith(("safe_", "unsafe_"))]


@pytest.mark.parametrize(("module", "function"), CASES)
def test_flow(module, function):
    vars(importlib.import_module("flows." + module))[function]()
