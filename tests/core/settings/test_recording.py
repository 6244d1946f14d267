"""Applied heals written as runbook entries."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healguard_core.execution.patterns import matches, parse_pattern, parse_statement
from healguard_core.execution.runbook import Runbook
from healguard_core.protocol import Crashed, Healed, RunbookEntry
from healguard_core.settings.errors import SettingsError
from healguard_core.settings.recording import append_to_runbook, dump_runbook, recorded_entry
from healguard_core.settings.runbook import load_runbook

ENTRY = RunbookEntry("", "KeyError", do="retries = 3\n", function="app.sync", message="retries", note="why")
OTHER = RunbookEntry("other", "app.Missing", do="for x in y:\n    pass\n\nz = 'ä'\n", resume="retry", where="x > 1")
WANTED = RunbookEntry("", "ValueError", function="app.views.*", reraise=True)


def _said(entry):
    return (entry.error, entry.function, entry.message, entry.statement, entry.where, entry.do.strip(), entry.resume,
            entry.reraise, entry.note)


def _load(path):
    return load_runbook([path], gate=False)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "heals.yaml"


def test_a_dump_is_readable_and_stable():
    assert dump_runbook([ENTRY, OTHER, WANTED, ENTRY]) == """\
version: 1
heals:
  - id: keyerror-app-sync
    when:
      error: KeyError
      function: app.sync
      message: retries
    do: |
      retries = 3
    note: why
  - id: other
    when:
      error: app.Missing
    do: |
      for x in y:
          pass

      z = 'ä'
    where: x > 1
    resume: retry
  - id: valueerror-views
    when:
      error: ValueError
      function: app.views.*
    reraise: true
"""
    assert dump_runbook([]) == "version: 1\nheals: []\n"


def test_what_is_dumped_is_loaded(path):
    path.write_text(dump_runbook([ENTRY, OTHER, WANTED]), encoding="utf-8")
    assert [_said(entry) for entry in _load(path)] == [_said(ENTRY), _said(OTHER), _said(WANTED)]


_texts = st.text(alphabet=st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=30)
_lines = st.lists(_texts, min_size=1, max_size=4).map(lambda lines: "x = " + repr("\n".join(lines)))


_entries = st.builds(RunbookEntry, st.just(""), st.just("KeyError"), do=_lines, note=_texts.map(str.strip))


@given(st.lists(_entries, max_size=4))
def test_any_text_survives(tmp_path_factory, entries):
    path = tmp_path_factory.getbasetemp() / "survives.yaml"
    path.write_text(dump_runbook(entries), encoding="utf-8")
    known = list(dict.fromkeys(entry.do for entry in entries))
    assert [entry.do.rstrip("\n") for entry in _load(path)] == known


@pytest.mark.parametrize(
    ("before", "kept"),
    [
        (None, ""),
        ("", ""),
        ("version: 1\nheals: []\n", "version: 1\nheals:"),
        ("version: 1\nheals: []  # none yet\n# end\n", "# none yet"),
        ("heals: []\nversion: 1\n", "version: 1"),
        ("# mine\nversion: 1\nheals:\n- when: {error: OSError}  # why\n  do: pass\n", "# why"),
        ("version: 1\nheals:\n    - when: {error: OSError}\n      do: |\n        pass", "        pass\n"),
        ("heals:\n  - when: {error: OSError}\n    reraise: true\n# the end\nversion: 1\n", "# the end"),
        ("version: 1\r\nheals:\r\n- when: {error: OSError}\r\n  do: pass\r\n", "do: pass\r\n"),
    ],
)
def test_appending_keeps_what_is_there(path, before, kept):
    if before is not None:
        path.write_text(before, encoding="utf-8", newline="")
    old = len(_load(path)) if before else 0
    assert append_to_runbook(path, [ENTRY, OTHER]) == 2
    text = path.read_bytes().decode()
    assert kept in text
    assert "\n" not in text.replace("\r\n", "") or "\r\n" not in text
    loaded = _load(path)
    assert len(loaded) == old + 2
    assert [_said(entry) for entry in loaded[old:]] == [_said(ENTRY), _said(OTHER)]


def test_what_is_there_already_is_not_written_again(path):
    assert append_to_runbook(path, [ENTRY, OTHER, ENTRY]) == 2
    before = path.read_bytes()
    assert append_to_runbook(path, [OTHER, RunbookEntry("new-name", "KeyError", do="retries = 3", function="app.sync",
                                                        message="retries")]) == 0
    assert path.read_bytes() == before


def test_ids_stay_unique(path):
    append_to_runbook(path, [ENTRY])
    append_to_runbook(path, [RunbookEntry("", "KeyError", do="retries = 4", function="app.sync")])
    assert [entry.id for entry in _load(path)] == ["keyerror-app-sync", "keyerror-app-sync-2"]


@pytest.mark.parametrize("text", ["version: 1\nheals: [{when: {error: OSError}, do: pass}]\n", "not: a runbook\n"])
def test_a_file_that_cannot_be_added_to_stays_as_it_is(path, text):
    path.write_text(text)
    with pytest.raises(SettingsError):
        append_to_runbook(path, [ENTRY])
    assert path.read_text() == text


def test_processes_that_record_at_once_lose_nothing(path):
    program = (
        "import sys\n"
        "from healguard_core.protocol import RunbookEntry\n"
        "from healguard_core.settings.recording import append_to_runbook\n"
        "for n in range(10):\n"
        "    append_to_runbook(sys.argv[1], [RunbookEntry('', 'KeyError', do=f'x = {n}, ' + sys.argv[2])])\n"
        "    append_to_runbook(sys.argv[1], [RunbookEntry('', 'KeyError', do=f'shared = {n}')])\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", program, str(path), str(number)]) for number in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]
    loaded = _load(path)
    assert len({entry.id for entry in loaded}) == len(loaded) == 10 * 3 + 10


class TestRecordedEntries:
    CRASHED = Crashed(crash=1, error="KeyError", message="'retries' at 0x7f3a12bc (a.b)", file="app.py",
                      function="app.sync", line=3, statement="retries = section['retries']")
    HEALED = Healed(crash=1, code="retries = 3", by="rules", explanation="It is the default.")

    def test_what_is_recorded(self):
        entry = recorded_entry(self.CRASHED, self.HEALED)
        assert entry.message == r"'retries' at 0x[0-9a-fA-F]+ \(a\.b\)"
        assert (entry.error, entry.function, entry.do) == ("KeyError", "app.sync", "retries = 3\n")
        assert entry.statement == "retries = section['retries']"
        assert entry.note == "recorded from rules, not reviewed yet: It is the default."

    def test_it_applies_to_the_same_crash(self, path):
        append_to_runbook(path, [recorded_entry(self.CRASHED, self.HEALED)])

        class Frame:
            function = "app.sync"
            statement_node = parse_statement("retries = section['retries']")

            def read(self):
                return {}

        class Error(KeyError):
            def __str__(self):
                return "'retries' at 0x99 (a.b)"

        Error.__name__ = "KeyError"
        book = Runbook(_load(path))
        assert book.match(Error(), [Frame()]).entry.do == "retries = 3\n"
        assert book.match(KeyError("other"), [Frame()]) is None

    @pytest.mark.parametrize(
        ("way", "resume"),
        [("next", "next"), ("return", "next"), ("retry", "retry"), ("break", "break"), ("raise", "next")],
    )
    def test_how_it_went_on(self, way, resume):
        healed = Healed(code="_eh_rtn = 1", resume=way, by="rules")
        assert recorded_entry(self.CRASHED, healed).resume == resume

    def test_an_outer_frame(self):
        entry = recorded_entry(self.CRASHED, self.HEALED, "app.main")
        assert (entry.function, entry.statement) == ("app.main", "")

    @pytest.mark.parametrize(
        "statement",
        ["if a[0]:\n    b = 1\nelse:\n    c", "while x[1]:\n    pass", "for i in f(a):\n    g(i)",
         "with o(a) as b:\n    b",
         "@cached(f(1))\ndef g(a=b):\n    return 1", "match a.b:\n    case 1:\n        pass", "pass", "x = f(\n    1)",
         "class A(b[0]):\n    x = 1"],
    )
    def test_a_compound_statement_is_recorded_as_its_header(self, statement):
        entry = recorded_entry(Crashed(statement=statement, error="KeyError"), self.HEALED)
        assert "else" not in entry.statement
        assert matches(parse_pattern(entry.statement), parse_statement(statement))

    def test_a_statement_that_cannot_be_parsed_is_left_out(self):
        assert recorded_entry(Crashed(statement="x = (", error="KeyError"), self.HEALED).statement == ""
