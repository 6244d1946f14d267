RATES = {"EUR": 1.0, "USD": 0.9}


def amount_of(order):
    amount = order["amount"]
    return amount * 2


def in_euro(amount, currency):
    return amount * RATES[currency]
