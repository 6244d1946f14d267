from fpdf import FPDF
from fpdf.drawing import DeviceCMYK


def test_text_in_a_printing_colour():
    pdf = FPDF()
    colour = DeviceCMYK(0.1, 0.2, 0.3, 0.4)
    pdf.set_text_color(colour)
    assert pdf.text_color == colour
