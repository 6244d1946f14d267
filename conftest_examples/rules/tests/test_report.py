from report import first, line, title


def test_key_in_other_case():
    assert title({"Title": "Sales", "year": 2026}) == "Sales"


def test_number_in_text():
    assert line("apples", 3) == "apples: 3"


def test_no_rows():
    assert first([]) is None
