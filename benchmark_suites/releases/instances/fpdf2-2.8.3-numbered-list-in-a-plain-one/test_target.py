from fpdf import FPDF


def test_numbered_list_inside_of_a_plain_one():
    pdf = FPDF()
    pdf.add_page()
    pdf.write_html("<ul><li>fruit<ol><li>plum</li><li>pear</li></ol></li></ul>")
    assert pdf.pages_count == 1
    assert pdf.get_y() > 10
