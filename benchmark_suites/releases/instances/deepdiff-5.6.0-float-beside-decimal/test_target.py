from decimal import Decimal

from deepdiff import DeepDiff


def test_float_beside_decimal_in_any_order():
    found = DeepDiff([[10.0]], [[Decimal("10.5")]], ignore_order=True)
    assert found
