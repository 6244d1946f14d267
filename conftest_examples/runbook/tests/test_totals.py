import pytest
from orders.totals import average, total


def test_total():
    assert total([{"price": 3, "count": 2}, {"price": 4, "count": 1}]) == 10


def test_line_without_count():
    assert total([{"price": 3}, {"price": 4, "count": 2}]) == 11


def test_text_as_price():
    assert total([{"price": "free", "count": 1}, {"price": 4, "count": 2}]) == 8


def test_average_of_nothing():
    assert average([]) is None


def test_negative_price():
    assert total([{"price": -1, "count": 1}]) == 0


@pytest.mark.heal(False)
def test_left_alone():
    with pytest.raises(KeyError):
        total([{"price": 3}])
