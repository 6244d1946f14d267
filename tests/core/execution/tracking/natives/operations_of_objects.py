"""More operations: of text, numbers, objects, functions and of what keeps things. See `operations`."""

import array
import binascii
import contextvars
import csv
import datetime
import decimal
import functools
import hashlib
import io
import itertools
import json
import operator
import pickle
import queue
import re
import struct
import types
import zlib

from healguard_core.execution.tracking.heap import attribute

from .operations import listed, of_one, operation

# --------------------------------------------------------------------------- text and numbers

for _name in ("upper", "strip", "title", "split", "encode", "casefold", "swapcase", "splitlines", "isdigit"):
    of_one(f"str.{_name}", getattr(str, _name))
of_one("str.replace", str.replace, "o", "0")
of_one("str.center", str.center, 30)
of_one("str.partition", str.partition, "-")
of_one("str.startswith", str.endswith, "Oo")
of_one("str", str)
of_one("repr", repr)
of_one("len", len)
of_one("hash", hash)
of_one("format", format, ">20")
of_one("bytes", bytes, "utf-8")
of_one("list of text", list)
of_one("operator.add", operator.add, "!")
of_one("operator.mod", operator.mod, ())
of_one("operator.eq", operator.eq, "other")
of_one("operator.lt", operator.lt, "hotter")
of_one("operator.mul", operator.mul, 2)
of_one("operator.getitem", operator.getitem, slice(3, None))
of_one("findall", re.compile(".").findall)
of_one("re.split", re.compile("-").split)
of_one("escaped for json", json.encoder.encode_basestring_ascii)


@operation(precise=False)
def str_format(stage, values, marks):
    return [stage.call("{} {} {}".format, *values[:3], marks=marks[:3])]


@operation(precise=False)
def percent(stage, values, marks):
    return [stage.call(operator.mod, "%s-%s", listed(stage, values[:2], marks[:2], tuple))]


@operation(precise=False)
def joined_map(stage, values, marks):
    mapping, mark = stage.call(map, str.upper, listed(stage, values, marks))
    return [stage.call(", ".join, mapping, marks=[mark])]


@operation(precise=False)
def match_groups(stage, values, marks):
    match, mark = stage.call(re.compile("(h)(.*)").match, values[0], marks=[marks[0]])
    return [stage.call(match.groups, mark=mark), stage.call(match.group, 2, mark=mark),
            stage.call(operator.getitem, match, 2, marks=[mark])]


@operation(precise=False)
def replaced_by_callback(stage, values, marks):
    replace = stage.callback(lambda match: values[0] + match.group())
    return [stage.call(re.compile("h|v").sub, replace, "hv", marks=[marks[0]])]


@operation(precise=False)
def bytes_digest(stage, values, marks):
    data, mark = stage.call(str.encode, values[0], marks=[marks[0]])
    made, mark = stage.call(hashlib.sha256, data, marks=[mark])
    return [stage.call(made.hexdigest, mark=mark)]


@operation(precise=False)
def digest_update(stage, values, marks):
    made = hashlib.sha256()
    stage.call(made.update, values[0].encode(), marks=[marks[0]])
    return [stage.call(made.hexdigest)]


@operation(precise=False)
def compressed(stage, values, marks):
    return [stage.call(zlib.compress, values[0].encode(), marks=[marks[0]]),
            stage.call(binascii.b2a_base64, values[0].encode(), marks=[marks[0]])]


@operation(precise=False)
def packed(stage, values, marks):
    return [stage.call(struct.pack, "2i", len(values[0]), len(values[1]), marks=[None, marks[0], marks[1]])]


@operation(precise=False)
def pickled(stage, values, marks):
    text, mark = stage.call(pickle.dumps, listed(stage, values, marks))
    return [stage.call(pickle.loads, text, marks=[mark])]


@operation(precise=False)
def scanned_json(stage, values, marks):
    scan = json.decoder.JSONDecoder().scan_once
    return [stage.call(scan, json.dumps(values[0]), 0, marks=[marks[0]])]


@operation(precise=False)
def encoded_json(stage, values, marks):
    encode = json.encoder.c_make_encoder(
        {}, None, json.encoder.encode_basestring_ascii, None, ": ", ", ", False, False, True
    )
    return [stage.call(encode, listed(stage, values, marks), 0)]


@operation(precise=False)
def numbers(stage, values, marks):
    size, mark = stage.call(len, values[0], marks=[marks[0]])
    return [stage.call(datetime.timedelta, days=size, named_marks={"days": mark}),
            stage.call(decimal.Decimal, size, marks=[mark]),
            stage.call(operator.add, decimal.Decimal(1), size, marks=[None, mark]),
            stage.call(divmod, size, 2, marks=[mark]),
            stage.call(range, size, size + 2, marks=[mark, mark]),
            stage.call(int, str(size), marks=[mark]),
            stage.call(sum, listed(stage, [1, size], [None, mark]))]


# --------------------------------------------------------------------------- objects


@operation()
def namespaces(stage, values, marks):
    made, mark = stage.call(types.SimpleNamespace, a=values[0], b=values[1],
                            named_marks={"a": marks[0], "b": marks[1]})
    stage.call(setattr, made, "c", values[2], marks=[None, None, marks[2]])
    return [(made, mark), stage.call(getattr, made, "a"), stage.call(getattr, made, "b"),
            stage.call(getattr, made, "none", "default"), stage.call(operator.attrgetter("a", "c"), made)]


@operation()
def attributes_as_items(stage, values, marks):
    made = types.SimpleNamespace()
    namespace, mark = stage.call(vars, made)
    stage.call(operator.setitem, namespace, "a", values[0], marks=[mark, None, marks[0]])
    stage.call(operator.setitem, namespace, "b", values[1], marks=[mark, None, marks[1]])
    return [stage.call(getattr, made, "a"), stage.call(getattr, made, "b")]


class Plain:
    """An instance with two fields."""

    def __init__(self, a, b):
        self.a, self.b = a, b


class Slotted:
    """An instance with two slots."""

    __slots__ = ("a", "b")

    def __init__(self, a, b):
        self.a, self.b = a, b


@operation()
def reduced(stage, values, marks):
    made = Plain(values[0], values[1])
    stage.heap.put(made, attribute("a"), marks[0])
    stage.heap.put(made, attribute("b"), marks[1])
    parts, mark = stage.call(object.__reduce_ex__, made, 4)
    target = {}
    stage.call(target.update, parts[2], marks=[mark])
    return [(target, None)]


@operation()
def reduced_slots(stage, values, marks):
    made = Slotted(values[0], values[1])
    stage.call(object.__setattr__, made, "a", values[0], marks=[None, None, marks[0]])
    stage.call(setattr, made, "b", values[1], marks=[None, None, marks[1]])
    parts, mark = stage.call(object.__reduce_ex__, made, 4)
    target = {}
    stage.call(target.update, parts[2][1], marks=[mark])
    return [(target, None), stage.call(getattr, made, "a"), stage.call(getattr, made, "b")]


@operation()
def exceptions(stage, values, marks):
    made, mark = stage.call(ValueError, values[0], values[1], marks=marks[:2])
    return [(made.args, mark)]


@operation(precise=False)
def exception_text(stage, values, marks):
    made, mark = stage.call(KeyError, values[0], marks=marks[:1])
    error, error_mark = stage.call(OSError, 2, values[0], values[1], marks=[None, *marks[:2]])
    return [stage.call(str, made, marks=[mark]), stage.call(str, error, marks=[error_mark])]


@operation()
def made_class(stage, values, marks):
    namespace = {"a": values[0], "b": values[1]}
    for name, mark in zip(namespace, marks, strict=False):
        stage.heap.put(namespace, ("item", name), mark)
    cls, _ = stage.call(type, "Made", (), namespace)
    return [stage.call(getattr, cls, "a"), stage.call(getattr, cls(), "b")]


# --------------------------------------------------------------------------- functions


@operation()
def partials(stage, values, marks):
    made, mark = stage.call(functools.partial, operator.getitem, listed(stage, values, marks))
    assert mark is None
    return [stage.call(made, 0), stage.call(made, 1)]


@operation(precise=False)
def partial_text(stage, values, marks):
    made, _ = stage.call(functools.partial, str.replace, values[0], marks=[None, marks[0]])
    return [stage.call(made, "o", "0")]


@operation(precise=False)
def reduced_by_functions(stage, values, marks):
    return [stage.call(functools.reduce, operator.add, listed(stage, values, marks)),
            stage.call(functools.reduce, stage.callback(lambda one, other: one + other), listed(stage, values, marks))]


@operation()
def cached(stage, values, marks):
    kept = functools.lru_cache(stage.callback(lambda value: value + "!"))
    stage.call(kept, values[0], marks=[marks[0]])
    return [stage.call(kept, values[0], marks=[marks[0]]), stage.call(kept, "clean")]


@operation(precise=False)
def methodcaller(stage, values, marks):
    return [stage.call(operator.methodcaller("replace", "o", "0"), values[0], marks=[marks[0]])]


@operation()
def sorted_by_callback(stage, values, marks):
    return [stage.call(sorted, listed(stage, values, marks), key=stage.callback(str.lower, through=False))]


@operation()
def sorted_items(stage, values, marks):
    pairs, mark = stage.call(zip, [5, 1, 4, 2, 3, 0], listed(stage, values, marks))
    return [stage.call(sorted, pairs, marks=[mark])]


@operation()
def generator_driven(stage, values, _marks):
    give = stage.callback(lambda value: value)
    return [stage.call(list, (give(value) for value in values))]


@operation()
def first_of_chain(stage, values, marks):
    made, mark = stage.call(itertools.chain, listed(stage, values, marks), ["other"])
    first = stage.call(next, made, "default", marks=[mark])
    return [first, stage.call(next, made, "default", marks=[mark])]


# --------------------------------------------------------------------------- what keeps things


@operation(precise=False)
def string_io(stage, values, marks):
    made, mark = stage.call(io.StringIO)
    stage.call(made.write, values[0], marks=[marks[0]], mark=mark)
    other, _ = stage.call(io.StringIO)
    stage.call(print, values[1], file=other, marks=[marks[1]])
    return [stage.call(made.getvalue, mark=mark), stage.call(other.getvalue)]


@operation(precise=False)
def csv_text(stage, values, marks):
    made = io.StringIO()
    stage.call(csv.writer(made).writerow, listed(stage, values, marks))
    return [stage.call(made.getvalue)]


@operation()
def csv_rows(stage, values, marks):
    reader, mark = stage.call(csv.reader, listed(stage, values, marks))
    return [(row[0], row_mark) for row, row_mark in (stage.step(reader, mark) for _ in values)]


@operation(precise=False)
def simple_queue(stage, values, marks):
    made = queue.SimpleQueue()
    for value, mark in zip(values, marks, strict=True):
        stage.call(made.put, value, marks=[mark])
    return [stage.call(made.get) for _ in values]


@operation()
def context_variables(stage, values, marks):
    one, other = contextvars.ContextVar("one"), contextvars.ContextVar("other")
    token, token_mark = stage.call(one.set, values[0], marks=[marks[0]])
    stage.call(other.set, values[1], marks=[marks[1]])
    found = [stage.call(one.get), stage.call(other.get)]
    stage.call(one.reset, token, marks=[token_mark])
    return [*found, stage.call(one.get, "default")]


@operation(precise=False)
def buffers(stage, values, marks):
    made = array.array("i")
    stage.call(made.append, len(values[0]), marks=[marks[0]])
    buffer = bytearray()
    stage.call(buffer.extend, values[0].encode(), marks=[marks[0]])
    return [stage.call(made.tolist), stage.call(bytes, buffer), stage.call(binascii.hexlify, buffer)]
