def total(lines):
    amount = 0
    for line in lines:
        price = int(line["price"])
        check(price)
        amount += price * line["count"]
    return amount


def check(price):
    if price < 0:
        raise ValueError(f"a price must not be negative: {price}")


def average(amounts):
    return sum(amounts) / len(amounts)
