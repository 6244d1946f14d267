import io

from pdfminer.high_level import extract_text

CONTENT = b"BT /F1 12 Tf 20 30 Td (high) Tj /Left 5 Td (low) Tj ET"
OBJECTS = [
    b"<< /Type /Catalog /Pages 2 0 R >>",
    b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
    b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 100] /Contents 5 0 R"
    b" /Resources << /Font << /F1 4 0 R >> >> >>",
    b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    b"<< /Length %d >>\nstream\n%s\nendstream" % (len(CONTENT), CONTENT),
]


def document():
    text, places = b"%PDF-1.4\n", []
    for number, each in enumerate(OBJECTS, 1):
        places.append(len(text))
        text += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return io.BytesIO(text + b"xref\n0 6\n0000000000 65535 f \n%strailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF"
                      % (table, len(text)))


def test_text_that_is_moved_by_a_name():
    assert extract_text(document()).split() == ["highlow"]
