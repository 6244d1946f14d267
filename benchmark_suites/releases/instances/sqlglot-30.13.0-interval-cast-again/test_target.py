from sqlglot import exp, parse_one


def test_interval_cast_again():
    found = exp.cast(parse_one("CAST(3 AS INTERVAL DAY)"), to="bigint")
    assert found.sql() == "CAST(CAST(3 AS INTERVAL DAY) AS BIGINT)"
