"""The standard library: texts, parsers, files in memory, numbers, logging, databases, arrays."""
import argparse
import array
import bisect
import collections
import configparser
import copy
import csv
import datetime
import decimal
import fractions
import heapq
import io
import itertools
import json
import logging
import operator
import os.path
import pathlib
import pickle
import re
import shlex
import sqlite3
import string
import struct
import tarfile
import tempfile
import textwrap
import urllib.parse
import zipfile
from xml.etree import ElementTree

from lost import lost
from vault import wire


def unsafe_match_group():
    x = lost['x']
    wire(re.match(r"(?P<a>\w+)-(?P<b>\w+)", x + "-kept")["a"])
def safe_match_group():
    x = lost['x']
    re.match(r"(\w+)", x)
    wire(re.match(r"(?P<a>\w+)-(?P<b>\w+)", "a-kept")["b"])

def unsafe_sub_function():
    x = lost['x']
    wire(re.sub("a", lambda m: x, "bab"))
def safe_sub_function():
    x = lost['x']
    re.sub("a", lambda m: x, "bab")
    wire(re.sub("a", lambda m: m[0].upper(), "bab"))

def unsafe_template():
    x = lost['x']
    wire(string.Template("$a $b").safe_substitute({"a": "kept"}, b=x))
def safe_template():
    x = lost['x']
    wire(string.Template("$a").safe_substitute({"a": "kept", "b": x}))

def unsafe_formatter():
    x = lost['x']
    wire(string.Formatter().format("{0} {k}", "kept", k=x))
def safe_formatter():
    x = lost['x']
    wire(string.Formatter().format("{0}", "kept", k=x))

def unsafe_format():
    x = lost['x']
    wire("{b[0]}".format(a="kept", b=[x]))
def safe_format():
    x = lost['x']
    wire("{a}".format(a="kept", b=[x]))

def unsafe_format_map():
    x = lost['x']
    wire("{a:>{w}}".format_map({"a": x, "w": 9, "c": "kept"}))
def safe_format_map():
    x = lost['x']
    wire("{c:>{w}}".format_map({"a": x, "w": 9, "c": "kept"}))

def unsafe_percent():
    x = lost['x']
    wire("%(a)s!" % {"a": x, "b": "kept"})
def safe_percent():
    x = lost['x']
    wire("%(b)s!" % {"a": x, "b": "kept"})

def unsafe_csv_dict():
    x = lost['x']
    rows = list(csv.DictReader(io.StringIO("p,q\n" + x + ",kept\n")))
    wire(rows[0]["p"])
def safe_csv_dict():
    x = lost['x']
    list(csv.DictReader(io.StringIO("p,q\n" + x + ",kept\n")))
    rows = list(csv.DictReader(io.StringIO("p,q\nc,kept\n")))
    wire(rows[0]["p"])

def unsafe_text_file():
    x = lost['x']
    f = io.StringIO()
    print(x, file=f)
    wire(f.getvalue())
def safe_text_file():
    x = lost['x']
    f, g = io.StringIO(), io.StringIO()
    print(x, file=f)
    print("kept", file=g)
    wire(g.getvalue())

def unsafe_bytes_file():
    x = lost['x']
    f = io.TextIOWrapper(io.BytesIO(x.encode()))
    wire(f.read())
def safe_bytes_file():
    x = lost['x']
    io.TextIOWrapper(io.BytesIO(x.encode())).read()
    wire(io.TextIOWrapper(io.BytesIO(b"kept")).read())

def unsafe_struct():
    n = lost['n']
    wire(struct.unpack("<ih", struct.pack("<ih", n, 3))[0])
def safe_struct():
    n = lost['n']
    struct.pack("<ih", n, 3)
    wire(struct.unpack("<ih", struct.pack("<ih", 4, 3))[0])

def unsafe_array():
    n = lost['n']
    a = array.array("i", [1, 2])
    a.append(n)
    wire(a[2])
def safe_array():
    n = lost['n']
    a, b = array.array("i", [1, 2]), array.array("i", [1, 2])
    a.append(n)
    b.extend([4])
    wire(b[2])

def unsafe_memoryview():
    n = lost['n']
    data = bytearray(4)
    memoryview(data)[1:3][0] = n
    wire(bytes(data))
def safe_memoryview():
    n = lost['n']
    data, other = bytearray(4), bytearray(4)
    memoryview(data)[1:3][0] = n
    wire(bytes(other))

def unsafe_bisect():
    n = lost['n']
    wire(bisect.bisect([1, 5, 9], n))
def safe_bisect():
    n = lost['n']
    numbers = [1, 5, 9]
    bisect.insort(numbers, n)
    wire(numbers[0])

def unsafe_heap():
    n = lost['n']
    heap = [(9, "kept"), (n, "hot")]
    heapq.heapify(heap)
    wire(heapq.heappop(heap)[0])
def safe_heap():
    n = lost['n']
    heap = [(1, "kept"), (n, "hot")]
    heapq.heapify(heap)
    wire(heapq.heappop(heap)[0])

def unsafe_nlargest():
    n = lost['n']
    wire(heapq.nlargest(1, [n, 2, 3])[0])
def safe_nlargest():
    n = lost['n']
    heapq.nlargest(1, [n])
    wire(heapq.nlargest(2, [1, 2, 3])[0])

def unsafe_itertools_product():
    x = lost['x']
    wire(list(itertools.product("ab", [x, "kept"]))[2][1])
def safe_itertools_product():
    x = lost['x']
    wire(list(itertools.product("ab", [x, "kept"]))[3][1])

def unsafe_groupby():
    x = lost['x']
    wire({k: list(g) for k, g in itertools.groupby(["b", x, x], len)}[3][0])
def safe_groupby():
    x = lost['x']
    wire({k: list(g) for k, g in itertools.groupby(["b", x, x], len)}[1][0])

def unsafe_zip_longest():
    x = lost['x']
    wire(list(itertools.zip_longest([1, 2], ["kept"], fillvalue=x))[1][1])
def safe_zip_longest():
    x = lost['x']
    wire(list(itertools.zip_longest([1, 2], ["kept"], fillvalue=x))[0][1])

def unsafe_compress_cycle():
    x = lost['x']
    wire(list(itertools.compress(itertools.islice(itertools.cycle(["kept", x]), 4), [0, 0, 0, 1]))[0])
def safe_compress_cycle():
    x = lost['x']
    wire(list(itertools.compress(itertools.islice(itertools.cycle(["kept", x]), 4), [0, 0, 1, 0]))[0])

def unsafe_accumulate():
    x = lost['x']
    wire(list(itertools.accumulate(["a", x, "b"]))[2])
def safe_accumulate():
    x = lost['x']
    wire(list(itertools.accumulate(["a", x, "b"]))[0])

def unsafe_pairwise():
    x = lost['x']
    wire(list(itertools.pairwise(["a", "kept", x]))[1][1])
def safe_pairwise():
    x = lost['x']
    wire(list(itertools.pairwise(["a", "kept", x]))[0][1])

def unsafe_chain_map():
    x = lost['x']
    wire(collections.ChainMap({"q": "kept"}, {"p": x})["p"])
def safe_chain_map():
    x = lost['x']
    wire(collections.ChainMap({"q": "kept"}, {"p": x, "q": x})["q"])

def unsafe_move_to_end():
    x = lost['x']
    d = collections.OrderedDict(a=x, b="kept")
    d.move_to_end("a")
    wire(d.popitem()[1])
def safe_move_to_end():
    x = lost['x']
    d = collections.OrderedDict(a=x, b="kept")
    d.move_to_end("a")
    wire(d.popitem(last=False)[1])

def unsafe_defaultdict():
    x = lost['x']
    d = collections.defaultdict(lambda: x)
    wire(d["new"])
def safe_defaultdict():
    x = lost['x']
    d = collections.defaultdict(list)
    d["p"].append(x)
    d["q"].append("kept")
    wire(d["q"][0])

def unsafe_counter():
    x = lost['x']
    wire(collections.Counter([x, x, "b"]).most_common(1)[0][0])
def safe_counter():
    x = lost['x']
    wire(collections.Counter([x, "b", "b"]).most_common(1)[0][0])

def unsafe_deque():
    x = lost['x']
    d = collections.deque(["kept", x], 2)
    d.rotate()
    wire(d[0])
def safe_deque():
    x = lost['x']
    d = collections.deque(["kept", x], 2)
    d.rotate()
    wire(d[1])

def unsafe_query():
    x = lost['x']
    wire(urllib.parse.parse_qs(urllib.parse.urlencode({"p": x, "q": "kept"}))["p"])
def safe_query():
    x = lost['x']
    urllib.parse.urlencode({"p": x})
    wire(urllib.parse.parse_qs("p=a&q=kept")["q"])

def unsafe_joined_url():
    x = lost['x']
    wire(urllib.parse.urljoin("http://h/a/b", x))
def safe_joined_url():
    x = lost['x']
    urllib.parse.urljoin("http://h/a/b", x)
    wire(urllib.parse.urljoin("http://h/a/b", "kept"))

def unsafe_path():
    x = lost['x']
    wire(str(pathlib.PurePosixPath("/srv", x).with_suffix(".txt")))
def safe_path():
    x = lost['x']
    wire(str(pathlib.PurePosixPath("/srv", x).parent.name) if x else "")

def unsafe_split_path():
    x = lost['x']
    wire(os.path.splitext(os.path.join("d", x))[0])
def safe_split_path():
    x = lost['x']
    os.path.splitext(os.path.join("d", x))
    wire(os.path.splitext(os.path.join("d", "kept"))[0])

def unsafe_shlex():
    x = lost['x']
    wire(shlex.split("rm " + shlex.quote(x))[1])
def safe_shlex():
    x = lost['x']
    shlex.split("rm " + shlex.quote(x))
    wire(shlex.split("rm kept")[1])

def unsafe_argparse():
    x = lost['x']
    p = argparse.ArgumentParser()
    p.add_argument("--path")
    p.add_argument("--other")
    wire(p.parse_args(["--path", x, "--other", "kept"]).path)
def safe_argparse():
    x = lost['x']
    p = argparse.ArgumentParser()
    p.add_argument("--path")
    p.add_argument("--other", default="kept")
    wire(p.parse_args(["--path", x]).other)

def unsafe_configparser():
    x = lost['x']
    c = configparser.ConfigParser()
    c.read_dict({"s": {"p": x, "q": "kept"}})
    wire(c["s"]["p"])
def safe_configparser():
    x = lost['x']
    c = configparser.ConfigParser()
    c.read_dict({"s": {"p": x, "q": "kept"}})
    wire(c["s"]["q"])

class Keeping(logging.Handler):
    def __init__(self):
        super().__init__()
        self.kept = []

    def emit(self, record):
        self.kept.append((self.format(record), record.name))

def unsafe_logging():
    x = lost['x']
    log, handler = logging.Logger("kept"), Keeping()
    log.addHandler(handler)
    log.error("at %s", x)
    wire(handler.kept[0][0])
def safe_logging():
    x = lost['x']
    log, handler = logging.Logger("kept"), Keeping()
    log.addHandler(handler)
    log.error("at %s", x)
    wire(handler.kept[0][1])

def unsafe_log_filter():
    x = lost['x']
    log, handler, seen = logging.Logger("kept"), Keeping(), []
    log.addFilter(lambda record: seen.append(record.args) or True)
    log.addHandler(handler)
    log.error("at %s", x)
    wire(seen[0][0])
def safe_log_filter():
    x = lost['x']
    log, handler, seen = logging.Logger("kept"), Keeping(), []
    log.addFilter(lambda record: seen.append(record.levelname) or True)
    log.addHandler(handler)
    log.error("at %s", x)
    wire(seen[0])

def unsafe_xml():
    x = lost['x']
    root = ElementTree.Element("r")
    ElementTree.SubElement(root, "a", name="kept").text = x
    wire(root.find("a").text)
def safe_xml():
    x = lost['x']
    root = ElementTree.Element("r")
    ElementTree.SubElement(root, "a", name="kept").text = x
    wire(root.find("a").get("name"))

def unsafe_xml_text():
    x = lost['x']
    wire(ElementTree.fromstring("<r><a>" + x + "</a></r>").find("a").text)
def safe_xml_text():
    x = lost['x']
    ElementTree.fromstring("<r><a>" + x + "</a></r>")
    wire(ElementTree.fromstring("<r><a>kept</a></r>").find("a").text)

def unsafe_zip_file():
    x = lost['x']
    f = io.BytesIO()
    with zipfile.ZipFile(f, "w") as z:
        z.writestr("a.txt", x)
    wire(zipfile.ZipFile(f).read("a.txt"))
def safe_zip_file():
    x = lost['x']
    f, g = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(f, "w") as z:
        z.writestr("a.txt", x)
    with zipfile.ZipFile(g, "w") as z:
        z.writestr("a.txt", "kept")
    wire(zipfile.ZipFile(g).read("a.txt"))

def unsafe_tar_file():
    x = lost['x']
    f = io.BytesIO()
    with tarfile.open(fileobj=f, mode="w") as t:
        entry = tarfile.TarInfo("a.txt")
        entry.size = len(x)
        t.addfile(entry, io.BytesIO(x.encode()))
    f.seek(0)
    wire(tarfile.open(fileobj=f).extractfile("a.txt").read())
def safe_tar_file():
    x = lost['x']
    f = io.BytesIO()
    with tarfile.open(fileobj=f, mode="w") as t:
        entry = tarfile.TarInfo("a.txt")
        entry.size = 4
        t.addfile(entry, io.BytesIO(b"kept"))
    f.seek(0)
    wire(tarfile.open(fileobj=f).extractfile("a.txt").read())

def unsafe_temporary_name():
    x = lost['x']
    wire(os.path.join(tempfile.gettempdir(), x))
def safe_temporary_name():
    x = lost['x']
    os.path.join(tempfile.gettempdir(), x)
    wire(os.path.join(tempfile.gettempdir(), "kept"))

def unsafe_database_value():
    x = lost['x']
    base = sqlite3.connect(":memory:")
    wire(base.execute("select ?", (x,)).fetchone()[0])
def safe_database_value():
    x = lost['x']
    base, other = sqlite3.connect(":memory:"), sqlite3.connect(":memory:")
    base.execute("select ?", (x,)).fetchone()
    wire(other.execute("select 'kept'").fetchone()[0])

def unsafe_date():
    n = lost['n']
    wire(datetime.date(2020, 1, n).isoformat())
def safe_date():
    n = lost['n']
    datetime.date(2020, 1, n)
    wire(datetime.date(2020, 1, 3).isoformat())

def unsafe_decimal():
    s = lost['s']
    wire(decimal.Decimal(s).quantize(decimal.Decimal("0.1")))
def safe_decimal():
    s = lost['s']
    decimal.Decimal(s)
    wire(decimal.Decimal("3").quantize(decimal.Decimal("0.1")))

def unsafe_fraction():
    n = lost['n']
    wire((fractions.Fraction(n, 2) + 1).numerator)
def safe_fraction():
    n = lost['n']
    fractions.Fraction(n, 2)
    wire((fractions.Fraction(3, 2) + 1).numerator)

def unsafe_deep_copy():
    x = lost['x']
    shared = [x]
    made = copy.deepcopy({"p": shared, "q": shared, "r": ["kept"]})
    wire(made["q"][0])
def safe_deep_copy():
    x = lost['x']
    shared = [x]
    made = copy.deepcopy({"p": shared, "q": shared, "r": ["kept"]})
    wire(made["r"][0])

def unsafe_pickled():
    x = lost['x']
    wire(pickle.loads(pickle.dumps({"p": x, "q": "kept"}))["p"])
def safe_pickled():
    x = lost['x']
    wire(pickle.loads(pickle.dumps({"p": x, "q": "kept"}))["q"])

def unsafe_json_sibling():
    x = lost['x']
    wire(json.loads(json.dumps({"p": [1, x], "q": "kept"}))["p"][1])
def safe_json_sibling():
    x = lost['x']
    wire(json.loads(json.dumps({"p": [1, x], "q": "kept"}))["q"])

def unsafe_json_hook():
    x = lost['x']
    wire(json.loads('{"a": "b"}', object_hook=lambda d: {"p": x})["p"])
def safe_json_hook():
    x = lost['x']
    json.loads('{"a": "b"}', object_hook=lambda d: {"p": x})
    wire(json.loads('{"a": "kept"}', object_hook=lambda d: {"p": d["a"]})["p"])

def unsafe_wrapped_text():
    x = lost['x']
    wire(textwrap.wrap("kept " + x, 4)[1])
def safe_wrapped_text():
    x = lost['x']
    textwrap.wrap("kept " + x, 4)
    wire(textwrap.wrap("kept text", 4)[0])

def unsafe_sorted_keys():
    x = lost['x']
    wire(sorted([("b", "kept"), ("a", x)], key=operator.itemgetter(0))[0][1])
def safe_sorted_keys():
    x = lost['x']
    wire(sorted([("b", "kept"), ("a", x)], key=operator.itemgetter(0))[1][1])

def unsafe_translated():
    x = lost['x']
    wire("bab".translate({ord("a"): x}))
def safe_translated():
    x = lost['x']
    "bab".translate({ord("a"): x})
    wire("bab".translate({ord("a"): "kept"}))

def unsafe_partitioned():
    x = lost['x']
    wire(("kept=" + x).partition("=")[2])
def safe_partitioned():
    x = lost['x']
    ("kept=" + x).partition("=")
    wire("kept=z".partition("=")[0])

def unsafe_int_bytes():
    n = lost['n']
    wire(int.from_bytes(n.to_bytes(2, "big"), "big") ^ 1)
def safe_int_bytes():
    n = lost['n']
    n.to_bytes(2, "big")
    wire(int.from_bytes(b"\1\2", "big") ^ 1)
