"""The protected operations of a case. They do nothing but note that they happened."""

import contextlib
import json
import os

FOLDER = os.path.dirname(os.path.abspath(__file__))
FILES = ("a.txt", "b.txt", "kept.txt", "other.txt")
CASE = ""
STRICT = True
OTHER = True


class Done(BaseException):
    """The flow has come to its end."""


@contextlib.contextmanager
def running(case):  # type: ignore[no-untyped-def]
    """While ``case`` runs, with files to remove in the current folder."""
    global CASE, STRICT, OTHER
    CASE, STRICT, OTHER = case, True, True
    os.chdir(FOLDER)
    for name in FILES:
        with open(name, "w", encoding="utf-8") as stream:
            stream.write(name)
    try:
        yield
    finally:
        _note(*sorted(name for name in FILES if os.path.exists(os.path.join(FOLDER, name))))
        CASE = ""


def _note(*what: object) -> None:
    with open(os.path.join(FOLDER, "effects-" + CASE + ".jsonl"), "a", encoding="utf-8") as stream:
        stream.write(json.dumps(what) + "\n")


def reached() -> None:
    """The program went on after the heal and is about to enter the flow."""
    _note("reached")


def delete(path: object, note: object = "") -> None:
    """Protected with the key ``path``; ``note`` may be anything."""
    _note("delete", str(path), bool(note))


def pay(amount: object) -> None:
    """Protected with the key ``amount``."""
    _note("pay", amount)


def guarded(path: object) -> None:
    """Behaves as the module's condition says."""
    if STRICT:
        _note("checked", path)
    else:
        _note("unchecked", path)


class Store:
    """An object with a protected method."""

    def drop(self, path: object) -> None:
        """Protected with the key ``path``."""
        _note("drop", str(path))


STORE = Store()


class Client:
    """A class with a protected condition."""

    verify = True
    retry = True

    def send(self, path: object) -> None:
        """Behaves as the condition says."""
        _note("verified" if self.verify else "unverified", path)
