from stats import mean


def test_mean():
    assert mean([1, 2, 6]) == 3


def test_mean_of_nothing():
    assert mean([]) == 0
