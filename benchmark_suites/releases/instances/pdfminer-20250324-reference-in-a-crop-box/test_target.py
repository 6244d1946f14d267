import io

from pdfminer.pdfpage import PDFPage

OBJECTS = [
    b"<< /Type /Catalog /Pages 2 0 R >>",
    b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
    b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 90 60] /CropBox [0 0 4 0 R 50] >>",
    b"80",
]


def document():
    text, places = b"%PDF-1.4\n", []
    for number, each in enumerate(OBJECTS, 1):
        places.append(len(text))
        text += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return io.BytesIO(text + b"xref\n0 5\n0000000000 65535 f \n%strailer\n<< /Size 5 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF"
                      % (table, len(text)))


def test_crop_box_with_a_reference_in_it():
    (page,) = PDFPage.get_pages(document())
    assert tuple(page.cropbox) == (0, 0, 80, 50)
