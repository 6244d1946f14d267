# ruff: noqa: E501
"""Policy files: what is accepted, and how every mistake is told."""

import contextlib
import dataclasses
import importlib
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healguard_core.execution.guard import groups
from healguard_core.execution.guard.policy import Policy
from healguard_core.settings.errors import CODES, SettingsError
from healguard_core.settings.policy import load_policy

BANK = '''\
import os
VERIFY = True
class Ledger:
    strict = True
    def __init__(self, name):
        self.name = name
        self.limit = 3
    def post(self, amount, *, note=""):
        return amount
    @staticmethod
    def free(a, b):
        return a
class Special(Ledger):
    pass
def purge(path, really=False):
    os.remove(path)
def anything(*args, **kwargs):
    return args
'''

GOOD = '''\
version: 1
protect:
  - {id: delete-file,  call: os.remove,           key: path}
  - {id: run-process,  call: subprocess.run,      key: [args, env]}
  - {id: post-money,   call: bank.ledger.Ledger.post, key: [self, amount]}
  - {id: purge,        call: bank.ledger.purge, key: 0}
  - {id: output,       call: print, key: "*"}
  - {id: verifies,     condition: bank.ledger.VERIFY}
  - {id: strict,       condition: bank.ledger.Ledger.strict}
  - {id: limit,        condition: bank.ledger.Ledger.limit}
include: [builtin:filesystem, builtin:process]
allow:
  - {id: delete-file, when: "path.startswith('/tmp/')", reason: scratch}
  - {id: builtin:process, when: "'safe' in args"}
'''


@pytest.fixture
def load(tmp_path):
    """Load a policy given as text, beside a package ``bank``."""
    (tmp_path / "bank").mkdir()
    (tmp_path / "bank" / "__init__.py").touch()
    (tmp_path / "bank" / "ledger.py").write_text(BANK)
    (tmp_path / "bank" / "dynamic.py").write_text("from os.path import *\nclass A(Base): pass\n@wrap\ndef f(a): pass\n")

    def run(text, **options):
        path = tmp_path / "sinks.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return load_policy(path, [str(tmp_path)], **options)

    return run


def problems(load, text, **options):
    """What is wrong, without the file's folder."""
    with pytest.raises(SettingsError) as caught:
        load(text, **options)
    for problem in caught.value.problems:
        assert problem.code in CODES
    return [str(dataclasses.replace(problem, place=problem.place.rpartition("/")[2])) for problem in caught.value.problems]


def protect(*entries, more=""):
    return "version: 1\nprotect:\n" + "".join(f"  - {entry}\n" for entry in entries) + more


def test_a_good_policy_is_plain_json(load):
    policy = load(GOOD)
    assert policy["include"] == ["filesystem", "process"]
    assert [(item["id"], item["kind"], item["target"], item["key"]) for item in policy["protect"]] == [
        ("delete-file", "call", "os.remove", ["path"]),
        ("run-process", "call", "subprocess.run", ["args", "env"]),
        ("post-money", "call", "bank.ledger.Ledger.post", ["self", "amount"]),
        ("purge", "call", "bank.ledger.purge", [0]),
        ("output", "call", "print", ["*"]),
        ("verifies", "condition", "bank.ledger.VERIFY", []),
        ("strict", "condition", "bank.ledger.Ledger.strict", []),
        ("limit", "condition", "bank.ledger.Ledger.limit", []),
    ]
    assert policy["protect"][2]["place"].endswith("sinks.yaml:5")
    assert policy["allow"][0] == {"id": "delete-file", "when": "path.startswith('/tmp/')", "reason": "scratch"}


def test_nothing_of_the_repository_is_imported(load):
    before = set(sys.modules)  # other tests have banks of their own
    load(GOOD)
    assert not any(name.partition(".")[0] == "bank" for name in set(sys.modules) - before)


WRONG = [
    ("", ["sinks.yaml:1: HF403 the file is empty"]),
    ("version: 2\nprotect: []\n", ["sinks.yaml:1: HF405 version 2 is not supported"]),
    ("version: 1\n", ["sinks.yaml:1: HF403 the policy protects nothing"]),
    ("version: 1\nprotct: []\n", ["sinks.yaml:2: HF402 unknown key 'protct'; did you mean 'protect'?"]),
    ("version: 1\nprotect: {}\n", ["sinks.yaml:2: HF404 protect must be a list"]),
    (protect("{id: a, cal: print, key: '*'}"), ["sinks.yaml:3: HF402 unknown key 'cal'; did you mean 'call'?"]),
    (protect("{call: print, key: '*'}"), ["sinks.yaml:3: HF403 key 'id' is missing"]),
    (protect("{id: a, call: print}"), ["sinks.yaml:3: HF403 key 'key' is missing"]),
    (protect("{id: a, call: print, key: {}}"), ["sinks.yaml:3: HF404 key: {} is not possible"]),
    (protect("{id: a, call: print, key: []}"), ["sinks.yaml:3: HF404 key: the list is empty"]),
    (protect("{id: a, call: print, key: 1.5}"), ["sinks.yaml:3: HF404 key: 1.5 is not possible"]),
    (protect("{id: a, call: print, condition: a.b, key: '*'}"), ["sinks.yaml:3: HF408 an entry has either `call` or `condition`"]),
    (protect("{id: a, condition: bank.ledger.VERIFY, key: x}"), ["sinks.yaml:3: HF408 a condition has no key"]),
    (protect("{id: a, call: print, key: '*'}", "{id: a, call: input, key: '*'}"), ["sinks.yaml:4: HF409 id 'a' is taken by the entry at"]),
    (protect("{id: 'builtin:x', call: print, key: '*'}"), ["sinks.yaml:3: HF404 id 'builtin:x' is not possible"]),
    (protect("{id: a, call: os.remov, key: path}"), ["sinks.yaml:3: HF410 module os has no 'remov'; did you mean 'remove'?"]),
    (protect("{id: a, call: prnt, key: '*'}"), ["sinks.yaml:3: HF410 there is no builtin 'prnt'; did you mean 'print'?"]),
    (protect("{id: a, call: os.remove, key: pth}"), ["sinks.yaml:3: HF410 key 'pth': there is no such parameter; did you mean 'path'?"]),
    (protect("{id: a, call: os.remove, key: 7}"), ["sinks.yaml:3: HF410 key 7: it has 2 parameters"]),
    (protect("{id: a, call: os.remove, key: self}"), ["sinks.yaml:3: HF410 key self: it is no method of a class"]),
    (protect("{id: a, call: os, key: '*'}"), ["sinks.yaml:3: HF410 there is no builtin 'os'"]),
    (protect("{id: a, call: os.sep, key: '*'}"), ["sinks.yaml:3: HF410 os.sep cannot be called"]),
    (protect("{id: a, call: 'os.', key: '*'}"), ["sinks.yaml:3: HF410 'os.' is not a dotted name"]),
    (protect("{id: a, call: bnk.ledger.purge, key: path}"), ["sinks.yaml:3: HF410 there is no module 'bnk'; did you mean 'bank'?"]),
    (protect("{id: a, call: bank.ledgr.purge, key: path}"), ["sinks.yaml:3: HF410 module bank has no 'ledgr'"]),
    (protect("{id: a, call: bank.ledger.purg, key: path}"), ["sinks.yaml:3: HF410 module bank.ledger has no 'purg'; did you mean 'purge'?"]),
    (protect("{id: a, call: bank.ledger.purge, key: pat}"), ["sinks.yaml:3: HF410 bank.ledger.purge: key 'pat': there is no such parameter; did you mean 'path'?"]),
    (protect("{id: a, call: bank.ledger.Ledger.pst, key: 0}"), ["sinks.yaml:3: HF410 class Ledger of bank.ledger has no 'pst'; did you mean 'post'?"]),
    (protect("{id: a, call: bank.ledger.Ledger.post, key: 2}"), ["sinks.yaml:3: HF410 bank.ledger.Ledger.post: key 2: it has 2 parameters"]),
    (protect("{id: a, call: bank.ledger.Ledger, key: nme}"), ["sinks.yaml:3: HF410 bank.ledger.Ledger: key 'nme': there is no such parameter; did you mean 'name'?"]),
    (protect("{id: a, condition: bank.ledger.VERIFI}"), ["sinks.yaml:3: HF410 module bank.ledger has no 'VERIFI'; did you mean 'VERIFY'?"]),
    (protect("{id: a, condition: VERIFY}"), ["sinks.yaml:3: HF410 'VERIFY' is not a dotted name"]),
    ("version: 1\ninclude: [builtin:filesistem]\n", ["sinks.yaml:2: HF410 there is no group 'builtin:filesistem'; did you mean 'builtin:filesystem'?"]),
    (protect("{id: a, call: print, key: '*'}", more="allow:\n  - {id: b, when: 'True'}\n"), ["sinks.yaml:5: HF410 no protected call has the id 'b'"]),
    (protect("{id: a, call: print, key: '*'}", more="allow:\n  - {id: a, when: 'x.pop()'}\n"), ["sinks.yaml:5: HF407 `when` is refused by the gate: HC150"]),
    (protect("{id: a, call: print, key: '*'}", more="allow:\n  - {id: a}\n"), ["sinks.yaml:5: HF403 key 'when' is missing"]),
    (b"\xff", ["sinks.yaml:1: HF400 not UTF-8"]),
    ("a: [", ["sinks.yaml:1: HF401 not YAML"]),
]


@pytest.mark.parametrize(("text", "expected"), WRONG)
def test_every_mistake_is_told_with_its_place_and_the_nearest_name(load, text, expected):
    told = problems(load, text)
    assert len(told) == len(expected), told
    for line, start in zip(told, expected, strict=True):
        assert line.startswith(start), line


def test_all_mistakes_are_told_at_once_in_the_order_of_the_file(load):
    text = protect("{id: a, call: os.remov, key: p}", "{id: b, call: print}", "{id: b, condition: bank.ledger.X}",
                   more="include: [builtin:x]\n")
    lines = [line.split(":")[1] for line in problems(load, text)]
    assert lines == ["3", "4", "5", "5", "6"]


@pytest.mark.parametrize("entry", [
    "{id: a, call: bank.dynamic.joined, key: p}",  # from a star import, for all that the text says
    "{id: a, call: bank.dynamic.A.inherited, key: p}",
    "{id: a, call: bank.dynamic.f, key: other}",  # a decorator may change the parameters
    "{id: a, call: bank.ledger.Special.post, key: amount}",
    "{id: a, call: bank.ledger.anything, key: any}",
    "{id: a, condition: bank.dynamic.LATER}",
])
def test_what_the_source_cannot_tell_is_left_to_the_running_program(load, entry):
    assert load(protect(entry))["protect"]


def test_a_module_may_come_as_long_as_not_every_folder_is_known(load):
    text = protect("{id: a, call: later.f, key: p}")
    assert load(text, complete=False)["protect"]
    assert "there is no module 'later'" in problems(load, text)[0]


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(SettingsError, match="HF400 cannot read the file"):
        load_policy(tmp_path / "absent.yaml")


@given(st.text(max_size=60))
def test_any_text_is_a_policy_or_settings_error(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("policy") / "sinks.yaml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(SettingsError):
        load_policy(path)


@pytest.mark.parametrize("group", groups.GROUPS)
def test_ready_made_groups_name_real_operations_with_real_keys(group):
    """Of Python's own library, whatever exists resolves and takes its keys."""
    standard = [
        {"id": target, "kind": "call", "target": target, "key": key.split(",")}
        for target, key in groups.GROUPS[group].items()
        if target.partition(".")[0] in sys.stdlib_module_names
    ]
    for entry in standard:
        parts = entry["target"].split(".")
        for end in range(1, len(parts)):
            with contextlib.suppress(ImportError):
                importlib.import_module(".".join(parts[:end]))
    policy = Policy({"protect": standard})
    policy.resolve()
    missing = [problem for problem in policy.problems if "has no" not in problem]  # of other platforms
    assert missing == []
    assert len(policy.operations) > len(standard) * 0.6
