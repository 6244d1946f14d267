from shop.orders import amount_of, in_euro


def test_missing_amount():
    assert amount_of({"price": 21}) == 42


def test_unknown_currency():
    assert in_euro(10, "BTC") > 0
