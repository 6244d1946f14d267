from icalendar.caselessdict import CaselessDict


def test_comparison_with_something_else():
    assert (CaselessDict(colour="red") == 7) is False
