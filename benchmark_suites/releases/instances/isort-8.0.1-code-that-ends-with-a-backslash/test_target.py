import isort


def test_code_that_ends_with_a_backslash():
    assert isort.code("import json #\\") == "import json  # \\\n"
