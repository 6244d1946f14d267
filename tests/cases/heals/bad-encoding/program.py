"""One Latin-1 mail stops the import of a mailbox; deleting the offender is not a heal."""

BOX = {"1.eml": b"hi", "2.eml": b"caf\xe9", "3.eml": b"bye"}


def read(name):
    raw = BOX[name]
    return raw.decode("utf-8")  # crashes on 2.eml


def run():
    texts = {}
    for name in BOX:
        texts[name] = read(name)
    return texts


def ok(result):
    return list(result) == list(BOX) and result["2.eml"].startswith("caf") and result["3.eml"] == "bye"
