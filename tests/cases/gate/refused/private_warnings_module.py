# refused: HC110 dangerous
# warnings through a context manager
manager._module
