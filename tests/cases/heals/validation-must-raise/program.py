"""The exception is the contract: one value where a pair is required has to be refused."""


def pair(text):
    parts = text.split(",")
    if len(parts) != 2:
        raise ValueError(f"need two values, got {text!r}")  # on purpose
    return tuple(float(part) for part in parts)


def run():
    return pair("1.5")


def ok(result):
    return isinstance(result, tuple)  # one value is no pair, so no completed run is right
