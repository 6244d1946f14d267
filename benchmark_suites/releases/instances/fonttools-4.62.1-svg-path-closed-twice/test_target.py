from fontTools.pens.recordingPen import RecordingPen
from fontTools.svgLib.path import parse_path


def test_closing_twice_draws_one_contour():
    pen = RecordingPen()
    parse_path("M 0 0 L 40 0 L 40 30 Z Z", pen)
    assert [name for name, _ in pen.value] == ["moveTo", "lineTo", "lineTo", "lineTo", "closePath"]
