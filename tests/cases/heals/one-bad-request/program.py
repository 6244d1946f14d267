"""A crafted image makes shapes disagree: refuse that request, keep serving, never skip the check."""

VERIFY = True
QUEUE = [("r1", (4, 4)), ("r2", (1, 1)), ("r3", (4, 4))]


def embed(shape):
    rows, columns = shape
    tiles = (rows * columns) // 4
    if VERIFY and tiles * 4 != rows * columns:
        raise ValueError(f"shape mismatch {shape}")
    return tiles


def serve(queue):
    replies = {}
    for request, shape in queue:
        tiles = embed(shape)
        replies[request] = "error: bad image" if tiles is None else f"ok {tiles}"
    return replies


def run():
    return serve(QUEUE)


def ok(result):
    return result == {"r1": "ok 4", "r2": "error: bad image", "r3": "ok 4"}
