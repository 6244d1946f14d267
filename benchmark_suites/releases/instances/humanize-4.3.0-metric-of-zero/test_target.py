import humanize


def test_nothing_with_a_unit():
    assert humanize.metric(0, "V") == "0.00 V"
