"""Protected operations of the flows."""
import bz2
import contextlib
import functools
import io
import re


STRICT = True
LEVEL = 1
sent = []


def wire(value, note=None, **more):
    sent.append(value)
    return len(sent)


class Account:
    limit = 3

    def __init__(self, owner):
        self.owner = owner

    def pay(self, amount, to="x"):
        sent.append((self.owner, amount, to))

    def close(self):
        sent.append(self.owner)

    def allowed(self, amount):
        if amount < self.limit:
            sent.append(amount)


class Ledger:
    @classmethod
    def post(cls, amount, note=None):
        sent.append(amount)

    @staticmethod
    def wipe(path):
        sent.append(path)


class Job:
    def __init__(self, command, note=None):
        sent.append(command)


class Relay:
    def __call__(self, message, note=None):
        sent.append(message)


relay = Relay()


def emit(*args, target):
    sent.append(target)


def anything(*args, **named):
    sent.append((args, named))


def moved(source, target, note):
    sent.append((source, target))


def placed(note, path):
    sent.append(path)


def defaulted(*, path="p", note="n"):
    sent.append(path)


def setter(self, value):
    sent.append(value)


def put(self, key, value):
    sent.append(value)


async def send(message, note=None):
    sent.append(message)


def stream(message, note=None):
    sent.append(message)
    yield


def _logging(function):
    @functools.wraps(function)
    def inner(*args, **named):
        return function(*args, **named)
    return inner


@_logging
def logged(message, note=None):
    sent.append(message)


@functools.lru_cache
def remembered(message, note=None):
    sent.append(message)


@contextlib.contextmanager
def opened(path):
    sent.append(path)
    yield []


BUFFER = bz2.BZ2Compressor()
PATTERN = re.compile("a")


def guarded():
    if LEVEL:
        sent.append("guarded")
