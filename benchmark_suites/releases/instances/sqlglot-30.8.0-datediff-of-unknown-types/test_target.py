import sqlglot
from sqlglot.optimizer.canonicalize import canonicalize


def test_difference_of_columns_without_known_types():
    found = canonicalize(sqlglot.parse_one("SELECT DATEDIFF(due, paid) FROM bills"))
    assert found.sql() == "SELECT DATEDIFF(CAST(due AS DATETIME), CAST(paid AS DATETIME)) FROM bills"
