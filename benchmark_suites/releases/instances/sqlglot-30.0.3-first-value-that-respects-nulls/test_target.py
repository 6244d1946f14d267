import sqlglot


def test_first_value_that_respects_nulls():
    found = sqlglot.transpile(
        "SELECT FIRST_VALUE(price) RESPECT NULLS OVER (ORDER BY day) FROM sales", read="snowflake", write="mysql"
    )
    assert found == [
        "SELECT FIRST_VALUE(price) RESPECT NULLS OVER (ORDER BY day ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) FROM sales"
    ]
