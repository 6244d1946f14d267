"""A program with protected operations and many ways to reach them. Python 3.8; imported as the module ``bank``."""

import atexit
import collections
import contextlib
import functools
import gc
import os
import threading
import weakref

done = []  # what the protected operations did
rm = os.remove
out = print
bound = [].append


class Ledger:
    strict = True

    def __init__(self):
        self.items = []
        self.total = 0
        self.by_name = {}

    def post(self, amount):
        done.append(amount)

    @classmethod
    def open(cls, name):
        done.append(name)

    @staticmethod
    def close(name):
        done.append(name)

    def add(self, item):
        self.items.append(item)
        self.total += item
        return self


class Special(Ledger):
    pass


class Other:
    def post(self, amount):
        return amount


class Vault:
    """Making one is protected."""

    def __init__(self, path):
        done.append(path)


class SubVault(Vault):
    pass


def purge(path, really=False):
    done.append(path)
    return path if really else None


def logged(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


@logged
def erase(path):
    done.append(path)


purge_later = functools.partial(purge, really=True)
purge_alias = purge
keep_post = Ledger().post
wrapped_purge = logged(purge)
handlers = {"purge": purge}
special = Special()
other = Other()
CHECK = False


@functools.lru_cache(maxsize=None)  # noqa: UP033 (Python 3.8)
def cached(path):
    return purge(path)


def deep(path, levels=3):
    return deep(path, levels - 1) if levels else purge(path)


def quietly(path):
    try:
        purge(path)
    except BaseException:
        return "swallowed"


def each(paths):
    return list(map(purge, paths))


def by_key(paths):
    return sorted(paths, key=purge)


def in_thread(path):
    thread = threading.Thread(target=purge, args=(path,))
    thread.start()
    thread.join()


def in_nested_thread(path):
    thread = threading.Thread(target=in_thread, args=(path,))
    thread.start()
    thread.join()


def remove_in_thread(path):
    thread = threading.Thread(target=os.remove, args=(path,))
    thread.start()
    thread.join()


class Leaving:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        purge("exit")
        return True


class Dying:
    def __init__(self):
        self.me = None

    def __del__(self):
        purge("del")


class Lazy:
    @property
    def value(self):
        return purge("property")

    def __getattr__(self, name):
        return purge("getattr")

    def __getitem__(self, key):
        return purge("getitem")

    def __iter__(self):
        purge("iter")
        return iter(())

    def __eq__(self, other):
        return purge("eq")

    __hash__ = None

    def __str__(self):
        purge("str")
        return ""

    def __call__(self):
        return purge("call")


class Defaults(collections.defaultdict):
    def __missing__(self, key):
        purge("missing")


@contextlib.contextmanager
def finally_purges():
    try:
        yield
    finally:
        purge("finally")


def generator():
    purge("generator")
    yield 1


def weak():
    item = Ledger()
    reference = weakref.ref(item, lambda _: purge("weakref"))
    del item
    return reference


def in_collection():
    gc.callbacks.append(lambda *_: purge("gc"))
    try:
        gc.collect()
    finally:
        gc.callbacks.pop()


def at_exit(path):
    atexit.register(purge, path)


def streaming(path):
    done.append(path)
    yield path


async def sending(path):
    done.append(path)
    return path


async def many(path):
    done.append(path)
    yield path


def drive(coroutine):
    try:
        coroutine.send(None)
    except StopIteration as ended:
        return ended.value


def say(text):
    print(text)


def say_each(texts):
    list(map(print, texts))


def write(path):
    with open(path, "w") as file:
        file.write("x")


def shell(command):
    return os.system(command)


def run_text(text):
    exec(text)


def flip():
    global CHECK
    CHECK = True


def flip_by_dict():
    globals()["CHECK"] = True


def weaken(target):
    target.strict = False


def weaken_own(target):
    target.__dict__["strict"] = False


def remember(store, key, value):
    store[key] = value
    return value


def frame(path, led, table, xs):
    """Paused here: the healing code runs over these variables."""
    lazy, dying, defaults = Lazy(), Dying, Defaults()
    raise KeyError(path, led, table, xs, lazy, dying, defaults)
