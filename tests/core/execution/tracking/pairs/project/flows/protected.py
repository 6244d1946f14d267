"""Kinds of protected operations, and ways to reach one."""
import asyncio
import functools
import io
import itertools
import operator
import pathlib
import sqlite3

import vault
from lost import lost


def unsafe_methodcaller():
    x = lost['x']
    operator.methodcaller("pay", x)(vault.Account("o"))
def safe_methodcaller():
    x = lost['x']
    operator.methodcaller("pay", "kept")(vault.Account(x))

def unsafe_mapped():
    x = lost['x']
    list(map(vault.wire, ["kept", x]))
def safe_mapped():
    x = lost['x']
    list(map(vault.wire, ["kept"], [x]))

def unsafe_mapped_later():
    x = lost['x']
    later = map(vault.wire, ["kept", x])
    next(later)
    next(later)
def safe_mapped_later():
    x = lost['x']
    later = map(vault.wire, ["kept", x])
    next(later)

def unsafe_sorted_by():
    x = lost['x']
    sorted([x, "kept"], key=vault.wire)
def safe_sorted_by():
    x = lost['x']
    sorted(["a", "kept"], key=vault.wire)

def unsafe_starmapped():
    x = lost['x']
    list(itertools.starmap(vault.wire, [("kept", 1), (x, 2)]))
def safe_starmapped():
    x = lost['x']
    list(itertools.starmap(vault.wire, [("kept", x)]))

def unsafe_reduced():
    x = lost['x']
    functools.reduce(vault.wire, [x, "note"])
def safe_reduced():
    x = lost['x']
    functools.reduce(vault.wire, ["kept", x])

def unsafe_filtered():
    x = lost['x']
    list(filter(vault.wire, [x]))
def safe_filtered():
    x = lost['x']
    list(filter(vault.wire, ["kept"]))

def unsafe_partial_keyword():
    x = lost['x']
    functools.partial(vault.wire, value=x)()
def safe_partial_keyword():
    x = lost['x']
    functools.partial(vault.wire, "kept")(note=x)

def unsafe_mapped_partial():
    x = lost['x']
    list(map(functools.partial(vault.wire, x), ["note"]))
def safe_mapped_partial():
    x = lost['x']
    list(map(functools.partial(vault.wire, "kept"), [x]))

def unsafe_descriptor():
    x = lost['x']
    class Holder:
        out = property(lambda self: None, vault.setter)
    Holder().out = x
def safe_descriptor():
    x = lost['x']
    class Holder:
        out = property(lambda self: x, vault.setter)
    Holder().out = "kept"

def unsafe_hook_of_class():
    x = lost['x']
    class Holder:
        __setitem__ = vault.put
    Holder()["k"] = x
def safe_hook_of_class():
    x = lost['x']
    class Holder:
        __setitem__ = vault.put
    Holder()[x] = "kept"

def unsafe_classmethod():
    x = lost['x']
    vault.Ledger.post(x)
def safe_classmethod():
    x = lost['x']
    vault.Ledger.post("kept", note=x)

def unsafe_classmethod_of_kid():
    x = lost['x']
    class Kid(vault.Ledger):
        pass
    Kid().post(x)
def safe_classmethod_of_kid():
    x = lost['x']
    class Kid(vault.Ledger):
        other = x
    Kid().post("kept")

def unsafe_staticmethod():
    x = lost['x']
    vault.Ledger().wipe(x)
def safe_staticmethod():
    x = lost['x']
    vault.Ledger().wipe("kept")

def unsafe_overridden():
    x = lost['x']
    class Kid(vault.Account):
        def pay(self, amount, to="x"):
            super().pay(amount, to)
    Kid("o").pay(x)
def safe_overridden():
    x = lost['x']
    class Kid(vault.Account):
        def pay(self, amount, to="x"):
            super().pay("kept", to)
    Kid("o").pay(x)

def unsafe_unbound():
    x = lost['x']
    vault.Account.pay(vault.Account("o"), x)
def safe_unbound():
    x = lost['x']
    vault.Account.pay(vault.Account(x), "kept")

def unsafe_self_key():
    x = lost['x']
    vault.Account(x).close()
def safe_self_key():
    x = lost['x']
    account = vault.Account(x)
    account.owner = "kept"
    account.close()

def unsafe_self_key_deep():
    x = lost['x']
    account = vault.Account(["a", {"k": x}])
    account.close()
def safe_self_key_deep():
    x = lost['x']
    account = vault.Account(["a", {"k": x}])
    account.owner[1].clear()
    account.close()

def unsafe_constructor():
    x = lost['x']
    vault.Job(x)
def safe_constructor():
    x = lost['x']
    vault.Job("kept", note=x)

def unsafe_constructor_of_kid():
    x = lost['x']
    class Kid(vault.Job):
        def __init__(self, command):
            super().__init__(command)
    Kid(x)
def safe_constructor_of_kid():
    x = lost['x']
    class Kid(vault.Job):
        def __init__(self, command):
            super().__init__("kept")
    Kid(x)

def unsafe_callable_object():
    x = lost['x']
    vault.relay(x)
def safe_callable_object():
    x = lost['x']
    vault.relay("kept", note=x)

def unsafe_keyword_only():
    x = lost['x']
    vault.emit(target=x)
def safe_keyword_only():
    x = lost['x']
    vault.emit(x, target="kept")

def unsafe_any_argument():
    x = lost['x']
    vault.anything("a", "b", c={"d": x})
def safe_any_argument():
    x = lost['x']
    vault.anything("a", "b", c={"d": bool(x) and "kept"})

def unsafe_several_keys():
    x = lost['x']
    vault.moved("a", x, "c")
def safe_several_keys():
    x = lost['x']
    vault.moved("a", "kept", x)

def unsafe_position_key():
    x = lost['x']
    vault.placed("a", x)
def safe_position_key():
    x = lost['x']
    vault.placed(x, "kept")

def unsafe_default():
    x = lost['x']
    vault.defaulted.__kwdefaults__["path"] = x
    try:
        vault.defaulted()
    finally:
        vault.defaulted.__kwdefaults__["path"] = "p"
def safe_default():
    x = lost['x']
    vault.defaulted.__kwdefaults__["note"] = x
    try:
        vault.defaulted()
    finally:
        vault.defaulted.__kwdefaults__["note"] = "n"

def unsafe_coroutine():
    x = lost['x']
    asyncio.run(vault.send(x))
def safe_coroutine():
    x = lost['x']
    asyncio.run(vault.send("kept", x))

def unsafe_generator():
    x = lost['x']
    list(vault.stream(x))
def safe_generator():
    x = lost['x']
    list(vault.stream("kept", x))

def unsafe_decorated():
    x = lost['x']
    vault.logged(x)
def safe_decorated():
    x = lost['x']
    vault.logged("kept", note=x)

def unsafe_cached():
    x = lost['x']
    vault.remembered(x)
def safe_cached():
    x = lost['x']
    vault.remembered("kept", note=x)

def unsafe_manager():
    x = lost['x']
    with vault.opened(x):
        pass
def safe_manager():
    x = lost['x']
    with vault.opened("kept") as f:
        f.append(x)

def unsafe_c_method():
    x = lost['x']
    vault.BUFFER.compress(x.encode())
def safe_c_method():
    x = lost['x']
    io.BytesIO().write(x.encode())
    vault.BUFFER.compress(b"kept")

def unsafe_c_method_alias():
    x = lost['x']
    write = vault.BUFFER.compress
    for one in (b"kept", x.encode()):
        write(one)
def safe_c_method_alias():
    x = lost['x']
    write = vault.BUFFER.compress
    for one in (b"kept", b"kept2"):
        write(one)

def unsafe_c_pattern():
    x = lost['x']
    vault.PATTERN.scanner(x)
def safe_c_pattern():
    x = lost['x']
    vault.PATTERN.sub("kept", x)
    vault.PATTERN.scanner("kept")

def unsafe_sql():
    x = lost['x']
    sqlite3.connect(":memory:").execute("select '" + x + "'")
def safe_sql():
    x = lost['x']
    sqlite3.connect(":memory:").execute("select ?", (x,))

def unsafe_path_method():
    x = lost['x']
    pathlib.Path("/nonexistent", x).unlink(missing_ok=True)
def safe_path_method():
    x = lost['x']
    pathlib.Path("/nonexistent", x)
    pathlib.Path("/nonexistent", "kept").unlink(missing_ok=True)

def unsafe_condition():
    x = lost['x']
    vault.LEVEL = len(x)
    try:
        vault.guarded()
    finally:
        vault.LEVEL = 1
def safe_condition():
    x = lost['x']
    vault.LEVEL = len(x)
    vault.LEVEL = 1
    vault.guarded()

def unsafe_condition_of_class():
    n = lost['n']
    one, other = vault.Account("o"), vault.Account("p")
    one.limit = n
    one.allowed(2)
def safe_condition_of_class():
    n = lost['n']
    one, other = vault.Account("o"), vault.Account("p")
    one.limit = n
    other.allowed(2)

def unsafe_condition_ternary():
    n = lost['n']
    one = vault.Account("o")
    one.limit = n
    return "a" if not one.limit else "b"
def safe_condition_ternary():
    n = lost['n']
    one = vault.Account("o")
    one.limit = n
    one.limit = 2
    return "a" if not one.limit else "b"

def unsafe_condition_filter():
    n = lost['n']
    one = vault.Account("o")
    vault.Account.limit = n
    try:
        return [i for i in (1, 2) if one.limit]
    finally:
        vault.Account.limit = 3
def safe_condition_filter():
    n = lost['n']
    one = vault.Account("o")
    one.limits = n
    return [i for i in (1, 2) if one.limit]
