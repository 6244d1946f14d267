from shop.orders import amount_of, in_euro


def test_total():
    assert amount_of({"amount": 2}) == 4


def test_missing_amount():
    assert amount_of({"price": 21}) == 42


def test_two_crashes():
    assert amount_of({"price": 1}) + amount_of({"price": 2}) == 6


def test_unknown_currency():
    assert in_euro(10, "BTC") > 0
