from fpdf import FPDF


def test_list_with_a_line_height_that_is_no_number():
    pdf = FPDF()
    pdf.add_page()
    pdf.write_html('<ul line-height="tall"><li>reed</li></ul><p>after</p>')
    assert pdf.pages_count == 1
