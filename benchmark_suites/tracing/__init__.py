"""What ran while a target test was called: counted in its process, compared with the fixed version afterwards."""
