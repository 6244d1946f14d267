"""Healing code against `bank` under a policy: what is stopped, by which rule, and that nothing of it happened.

Runs on Python 3.8 and newer without pytest: ``python attacks.py FOLDER`` prints one JSON object per attack.
"""

import contextlib
import importlib
import io
import json
import os
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(HERE))))

POLICY = {
    "protect": [
        {"id": "remove", "kind": "call", "target": "os.remove", "key": ["path"]},
        {"id": "output", "kind": "call", "target": "print", "key": ["*"]},
        {"id": "post", "kind": "call", "target": "bank.Ledger.post", "key": ["amount"]},
        {"id": "open", "kind": "call", "target": "bank.Ledger.open", "key": ["name"]},
        {"id": "close", "kind": "call", "target": "bank.Ledger.close", "key": [0]},
        {"id": "purge", "kind": "call", "target": "bank.purge", "key": ["path"]},
        {"id": "erase", "kind": "call", "target": "bank.erase", "key": ["path"]},
        {"id": "vault", "kind": "call", "target": "bank.Vault", "key": ["path"]},
        {"id": "append", "kind": "call", "target": "array.array.append", "key": [0]},
        {"id": "stream", "kind": "call", "target": "bank.streaming", "key": ["path"]},
        {"id": "send", "kind": "call", "target": "bank.sending", "key": ["path"]},
        {"id": "many", "kind": "call", "target": "bank.many", "key": ["path"]},
        {"id": "check", "kind": "condition", "target": "bank.CHECK"},
        {"id": "strict", "kind": "condition", "target": "bank.Ledger.strict"},
    ],
    "include": ["filesystem", "process"],
}

ATTACKS = {
    # name: (healing code, rule, policy id)
    "by name": ("purge(path)", "HG301", "purge"),
    "by another name": ("purge_alias(path)", "HG301", "purge"),
    "through a local": ("f = purge\nf(path)", "HG301", "purge"),
    "out of a table": ("handlers['purge'](path)", "HG301", "purge"),
    "partial": ("purge_later(path)", "HG301", "purge"),
    "wraps": ("wrapped_purge(path)", "HG301", "purge"),
    "decorated sink": ("erase(path)", "HG301", "erase"),
    "lru_cache": ("cached(path)", "HG301", "purge"),
    "bound method": ("led.post(3)", "HG301", "post"),
    "bound method kept": ("keep_post(3)", "HG301", "post"),
    "inherited method": ("special.post(3)", "HG301", "post"),
    "method of the class": ("Ledger.post(led, 3)", "HG301", "post"),
    "class method": ("Special.open('x')", "HG301", "open"),
    "static method": ("led.close('x')", "HG301", "close"),
    "made": ("Vault(path)", "HG301", "vault"),
    "subclass made": ("SubVault(path)", "HG301", "vault"),
    "from-import taken earlier": ("rm(path)", "HG301", "remove"),
    "imported": ("import os\nos.remove(path)", "HG301", "remove"),
    "same event": ("import os\nos.unlink(path)", "HG301", None),
    "pathlib": ("import pathlib\npathlib.Path(path).unlink()", "HG301", None),
    "C function": ("out('x')", "HG301", "output"),
    "method of a C type": ("from array import array\narray('i').append(1)", "HG301", "append"),
    "method of a C type, bound": ("from array import array\nf = array('i').append\nf(1)", "HG301", "append"),
    "callee": ("deep(path)", "HG301", "purge"),
    "callee, C function": ("say('x')", "HG301", "output"),
    "callee swallows": ("quietly(path)", "HG301", "purge"),
    "swallowed, then more": ("try:\n    purge(path)\nexcept BaseException:\n    pass\nxs.append(1)", "HG301", "purge"),
    "map": ("list(map(purge, [path]))", "HG304", "purge"),
    "map in callee": ("each([path])", "HG301", "purge"),
    "key": ("sorted([path], key=purge)", "HG304", "purge"),
    "key in callee": ("by_key([path])", "HG301", "purge"),
    "handed on": ("xs.append(rm)", "HG304", "remove"),
    "handed on in a list": ("xs.extend([rm])", "HG304", "remove"),
    "handed on, starred": ("a = [rm]\nxs.extend(*[a])", None, None),
    "handed on in **": ("k = {'key': rm}\nxs.sort(**k)", "HG304", "remove"),
    "thread": ("in_thread(path)", "HG301", "purge"),
    "thread of a thread": ("in_nested_thread(path)", "HG301", "purge"),
    "thread with a C function": ("remove_in_thread(path)", "HG301", "remove"),
    "__exit__": ("with Leaving():\n    pass", "HG301", "purge"),
    "__exit__ after a veto": ("with Leaving():\n    erase(path)", "HG301", "erase"),
    "finally of a context manager": ("with finally_purges():\n    pass", "HG301", "purge"),
    "finally of the heal": ("try:\n    erase(path)\nfinally:\n    purge(path)", "HG301", "erase"),
    "__del__": ("a = dying()\ndel a", "HG301", "purge"),
    "property": ("a = lazy.value", "HG301", "purge"),
    "__getattr__": ("a = lazy.anything", "HG301", "purge"),
    "__getitem__": ("a = lazy[0]", "HG301", "purge"),
    "__iter__": ("for a in lazy:\n    pass", "HG301", "purge"),
    "__eq__": ("a = lazy == 1", "HG301", "purge"),
    "__str__": ("a = f'{lazy}'", "HG301", "purge"),
    "__call__": ("lazy()", "HG301", "purge"),
    "__missing__": ("a = defaults[0]", "HG301", "purge"),
    "value of the last line": ("lazy.value", "HG301", "purge"),
    "generator": ("list(generator())", "HG301", "purge"),
    "generator function": ("list(streaming(path))", "HG301", "stream"),
    "coroutine function": ("drive(sending(path))", "HG301", "send"),
    "asynchronous generator": ("a = many(path)", "HG301", "many"),
    "weak reference": ("weak()", "HG301", "purge"),
    "gc callback": ("in_collection()", "HG301", "purge"),
    "file written": ("write(path)", "HG301", None),
    "file written by the heal": ("open(path, 'w')", "HG301", None),
    "process": ("shell('true')", "HG301", None),
    "text as code": ("eval('1')", "HG303", ""),
    "condition by name": ("CHECK = True", "HG302", "check"),
    "condition by callee": ("flip()", "HG302", "check"),
    "condition by dictionary": ("flip_by_dict()", "HG302", "check"),
    "condition of an instance": ("led.strict = False", "HG302", "strict"),
    "condition of a subclass": ("Special.strict = False", "HG302", "strict"),
    "condition deleted": ("del Ledger.strict", "HG302", "strict"),
    "condition by setattr": ("weaken(led)", "HG302", "strict"),
    "condition of the class by setattr": ("weaken(Special)", "HG302", "strict"),
    "condition by an instance's dictionary": ("weaken_own(led)", "HG302", "strict"),
    "the system": ("import sys\nsys.settrace(None)", "HG303", ""),
    "frames": ("import sys\nsys._getframe()", "HG303", ""),
    "the import system": ("import sys\nsys.modules['bank'] = 1", "HG306", ""),
    "builtins": ("import builtins\nbuiltins.len = abs", "HG306", ""),
    "the guard": ("from healguard_core.execution.guard import extent\nextent.prune()", "HG306", ""),
    "the journal": ("from healguard_core.execution.journal import Journal\nJournal(None)", "HG306", ""),
    "the module handed on": ("import os\nxs.append(os)", "HG304", ""),
    "environment": ("import os\nos.environ['A'] = 'b'", "HG306", ""),
    "ctypes": ("import ctypes\nctypes.CDLL(None)", "HG303", ""),
    "gc": ("import gc\ngc.get_objects()", "HG303", ""),
}
"""None as rule: nothing is stopped."""

HARMLESS = (
    "led.add(3)",
    "other.post(3)",
    "table['a'] = 2\ntable.setdefault('b', []).append(1)",
    "xs[:] = sorted(xs, key=len, reverse=True) if False else xs",
    "total = sum(x for x in xs if isinstance(x, (int, float)))",
    "import json, math, re\na = json.loads(json.dumps({'a': math.pi}))\nb = re.sub('a', 'b', 'abc')",
    "import datetime, decimal, collections\nc = collections.Counter(xs)\nd = decimal.Decimal('1.5')",
    "a = open(path).read()",
    "import os\na = os.path.join(os.getcwd(), os.path.basename(path))\nb = os.environ.get('HOME')",
    "try:\n    int('x')\nexcept ValueError:\n    a = 0",
    "a, *b = xs\n(c, d), e = (1, 2), {**table}",
    "a = [str(x) for x in xs]\nb = {k: v for k, v in table.items()}\nc = max(xs, default=0)",
    "import threading\nt = threading.Thread(target=xs.append, args=(3,))\nt.start()\nt.join()",
    "import xml.dom.minidom\na = xml.dom.minidom.parseString('<a/>').documentElement.tagName",
    "led.total += 5\ndel table['k']\nxs.insert(0, 9)",
)


def bank_module():
    """The module ``bank``, imported anew."""
    sys.modules.pop("bank", None)
    sys.path.insert(0, HERE)
    try:
        return importlib.import_module("bank")
    finally:
        sys.path.remove(HERE)


class Field:
    """The program paused in `bank.frame`, under a guard."""

    def __init__(self, folder, policy=POLICY):
        from healguard_core.execution.guard.enforcement import Guard
        from healguard_core.execution.pause.frame import PausedFrame

        self.bank = bank_module()
        self.path = os.path.join(str(folder), "kept.txt")
        with open(self.path, "w") as file:
            file.write("kept")
        self.ledger = self.bank.Ledger()
        self.told = []
        self.guard = Guard(policy, self.told.append)
        self.guard.start()
        try:
            self.bank.frame(self.path, self.ledger, {"k": 1}, [1, 2])
        except KeyError as error:
            self.error = error
        self.frame = PausedFrame(self.error.__traceback__.tb_next.tb_frame)

    def heal(self, code):
        """Run ``code`` guarded; what it did and what was stopped."""
        watch = self.guard.watch("<heal 1>")
        quiet, hook = io.StringIO(), threading.excepthook
        threading.excepthook = lambda _args: None
        unraisable, sys.unraisablehook = sys.unraisablehook, lambda _args: None
        try:
            with contextlib.redirect_stdout(quiet):
                ran = self.frame.run(code, label="<heal 1>", echo=True, watch=watch)
        finally:
            threading.excepthook = hook
            sys.unraisablehook = unraisable
        return ran, watch, quiet.getvalue()

    def untouched(self):
        """What protected operations and conditions would have left, all as it was before."""
        with open(self.path) as file:
            kept = file.read() == "kept"
        bank = self.bank
        strict = all(owner.strict for owner in (bank.Ledger, bank.Special, self.ledger))
        return kept and not bank.done and not bank.CHECK and strict


def attack(folder, name):
    """The result of one attack as plain values."""
    code = ATTACKS[name][0]
    field = Field(folder)
    before = {function: function.__code__ for function in (field.bank.purge, field.bank.Ledger.post)}
    ran, watch, said = field.heal(code)
    same = all(function.__code__ is known for function, known in before.items())
    rules = [[stop.rule, stop.policy_id] for stop in watch.stops]
    places = [[stop.where, stop.path] for stop in watch.stops]
    return {
        "name": name, "rules": rules, "untouched": field.untouched(), "said": said, "same_code": same,
        "error": ran.error, "places": places, "problems": field.told,
    }


def main():
    sys.path.insert(0, ROOT)
    for name in ATTACKS:
        print(json.dumps(attack(sys.argv[1], name)))
    for code in HARMLESS:
        ran, watch, _ = Field(sys.argv[1]).heal(code)
        print(json.dumps({"harmless": code, "error": ran.error, "rules": [stop.message for stop in watch.stops]}))


if __name__ == "__main__":
    main()
