import collections.abc

import attrs
import cattrs


@attrs.define
class Shelf(collections.abc.Iterable[int]):
    width: int

    def __iter__(self):
        return iter(range(self.width))


def test_class_with_a_parametrised_abstract_base():
    assert cattrs.structure({"width": 3}, Shelf) == Shelf(3)
