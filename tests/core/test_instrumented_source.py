"""The printed form of an instrumented file reads as Python and says what each handler stands for."""

import ast

import pytest

from healguard_core.instrumented_source import printable

SOURCE = """
class Shop:
    "Sells."

    def total(self, orders):
        for order in orders:
            try:
                self.sum += order["price"]
            except KeyError:
                print("@heal")
        return self.sum
"""


def test_it_is_python_and_names_every_site() -> None:
    text = printable(SOURCE, "shop.py")
    ast.parse(text)
    assert "except __heal__(0):  # line 10; Expr; may leave by return, continue, break" in text
    assert "# line 8; AugAssign; may leave by return, continue, break; its own handlers are asked first" in text
    assert "# line 6; header of For; may leave by return" in text
    assert "if __way__() == CONTINUE:" in text
    assert "return __value__()" in text


def test_texts_of_the_program_stay_as_they_are() -> None:
    assert "print('@heal')" in printable(SOURCE)


def test_printing_does_not_change_how_files_are_instrumented() -> None:
    first = printable(SOURCE)
    assert printable(SOURCE) == first


def test_what_is_not_python_is_refused_as_python_does_it() -> None:
    with pytest.raises(SyntaxError) as raised:
        printable("def f(:\n", "broken.py")
    assert raised.value.filename == "broken.py"
    assert raised.value.lineno == 1
