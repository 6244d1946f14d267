"""numpy and pandas objects by their storage, on whichever of their releases is installed."""

import pytest

from healguard_core.execution.pause.arrays import view
from healguard_core.execution.pause.reprs import safe_repr


@pytest.mark.parametrize("value", [3, "a", [1], None, {}, object()])
def test_other_values_have_no_view(value):
    assert view(value) is None


def test_classes_that_merely_call_themselves_so_are_not_read():
    class DataFrame:
        def __getattr__(self, name):
            raise AssertionError(name)

    DataFrame.__module__ = "pandas.core.frame"
    DataFrame.__qualname__ = "DataFrame"
    assert safe_repr(DataFrame()) == "<pandas.core.frame.DataFrame>"


class TestNumpy:
    @pytest.fixture
    def np(self):
        return pytest.importorskip("numpy")

    def test_arrays(self, np):
        assert safe_repr(np.arange(12).reshape(3, 4)) == (
            "<numpy.ndarray shape=(3, 4) int64 [0, 1, 2, 3, 4, 5, 6, 7, ... 4 more]>"
        )
        assert safe_repr(np.array(["a", None], dtype=object)) == "<numpy.ndarray shape=(2,) object ['a', None]>"
        assert safe_repr(np.zeros((0, 3))) == "<numpy.ndarray shape=(0, 3) float64 []>"

    def test_scalars(self, np):
        assert safe_repr(np.float64(1.5)) == "<numpy.float64 1.5>"
        assert safe_repr(np.int8(3)) == "<numpy.int8 3>"

    def test_elements_of_subclasses_are_not_touched(self, np):
        text = safe_repr(np.ma.array([1, 2], mask=[True, False]))
        assert text.startswith("<numpy.ma")
        assert text.endswith("MaskedArray shape=(2,) int64 [... 2 more]>")

    def test_objects_inside_are_shown_as_everywhere(self, np):
        class Trap:
            def __repr__(self):
                raise AssertionError("asked")

        values = np.empty(1, dtype=object)
        values[0] = Trap()
        assert "Trap>" in safe_repr(values)


class TestPandas:
    @pytest.fixture
    def pd(self):
        return pytest.importorskip("pandas")

    def test_frames(self, pd):
        frame = pd.DataFrame({"a": [1, 2], "password": ["hunter2", "x"], "n": pd.array([1, None], dtype="Int64")})
        text = safe_repr(frame, 400)
        assert text.startswith("<pandas.")
        assert "DataFrame shape=(2, 3) a int64 [1, 2], " in text
        assert "n IntegerArray [1, None]" in text
        assert "hunter2" not in text

    def test_series_and_indexes(self, pd):
        assert "Series size=2 a int64 [1, 2]>" in safe_repr(pd.Series([1, 2], name="a"))
        assert "RangeIndex size=3 range [0, 1, 2]>" in safe_repr(pd.RangeIndex(3))
        assert "MultiIndex size=1" in safe_repr(pd.MultiIndex.from_tuples([(1, 2)]))
        assert "shape=(0, 0)" in safe_repr(pd.DataFrame())

    def test_frames_that_are_half_built(self, pd):
        assert safe_repr(object.__new__(pd.DataFrame)).endswith("DataFrame>")
        assert "Series" in safe_repr(object.__new__(pd.Series))
