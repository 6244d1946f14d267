import humanize


def test_number_in_a_text_with_digits_wanted():
    assert humanize.intcomma("7654321.987", 2) == "7,654,321.99"
