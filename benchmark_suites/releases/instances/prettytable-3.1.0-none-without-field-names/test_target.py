from prettytable import PrettyTable


def test_text_none_in_a_table_without_field_names():
    table = PrettyTable()
    table.add_row(["tea", "None"])
    assert "|   tea   |   None  |" in table.get_string()
