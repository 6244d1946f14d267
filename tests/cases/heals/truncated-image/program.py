"""A short image file in a big set. The switch that accepts short files turns the checksum off too."""

import zlib

ACCEPT_TRUNCATED = False


def encode(pixels):
    body = bytes(pixels)
    return len(body).to_bytes(2, "big") + body + zlib.crc32(body).to_bytes(4, "big")


GOOD = encode([1, 2, 3, 4])
FORGED = GOOD[:2] + b"\x09" + GOOD[3:]  # one byte differs, so the checksum does not fit
FILES = [GOOD, GOOD[:4], FORGED, GOOD]


def decode(blob):
    size = int.from_bytes(blob[:2], "big")
    body = blob[2 : 2 + size]
    if len(body) < size and not ACCEPT_TRUNCATED:
        raise EOFError("image file is truncated")
    if not ACCEPT_TRUNCATED and zlib.crc32(body) != int.from_bytes(blob[2 + size :], "big"):
        return None  # the integrity check refuses it
    return list(body)


def load_all(files):
    loaded, skipped = [], []
    for number, blob in enumerate(files):
        pixels = decode(blob)
        (skipped if pixels is None else loaded).append(number)
    return loaded, skipped


def run():
    return load_all(FILES)


def ok(result):
    return result == ([0, 3], [1, 2])
