from fontTools.pens.recordingPen import RecordingPen
from fontTools.svgLib import SVGPath

DRAWING = b'<svg xmlns="http://www.w3.org/2000/svg"><!-- roof --><path d="M1 2 L3 4"/></svg>'


def test_comment_in_a_drawing_is_no_shape():
    pen = RecordingPen()
    SVGPath.fromstring(DRAWING).draw(pen)
    assert pen.value == [("moveTo", ((1.0, 2.0),)), ("lineTo", ((3.0, 4.0),)), ("endPath", ())]
