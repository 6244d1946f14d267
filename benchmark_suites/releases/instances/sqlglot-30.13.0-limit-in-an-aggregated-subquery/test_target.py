import sqlglot

QUERY = "SELECT ARRAY_AGG((SELECT name FROM staff LIMIT 1) IGNORE NULLS) FROM shops"


def test_limit_of_a_subquery_stays_there():
    assert sqlglot.transpile(QUERY, read="bigquery", write="bigquery") == [QUERY]
