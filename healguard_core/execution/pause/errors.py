"""The message of an exception and the printed traceback around it. May import static, reprs, redaction, sources."""

import types
from types import FrameType, TracebackType
from typing import Any, List, NamedTuple, Optional, Sequence, Tuple

from healguard_core.execution.pause import sources, static
from healguard_core.execution.pause.redaction import Redactor
from healguard_core.execution.pause.reprs import cut, safe_repr

_RUNNERS = ("_pytest", "pluggy", "pytest", "runpy")
_RUNNER_MODULES = ("unittest.case", "unittest.suite", "unittest.runner", "unittest.main")
_OURS = "healguard_core.execution"
_SCALARS = (str, bytes, int, float, bool, type(None))

_cause_of = BaseException.__dict__["__cause__"].__get__
_context_of = BaseException.__dict__["__context__"].__get__
_suppressed = BaseException.__dict__["__suppress_context__"].__get__
_traceback_of = BaseException.__dict__["__traceback__"].__get__


def message_of(error: BaseException, redact: bool = True, limit: int = 2000, secrets: Sequence[str] = ()) -> str:
    """What ``str(error)`` gives, at most ``limit`` characters, secrets withheld unless ``redact`` is off. Never raises.

    Arguments that are not plain values are shown by `safe_repr` instead of being asked. A ``__str__`` that the
    exception's own class defines in Python is called: whoever reports the error calls it as well.
    """
    return message_with(error, Redactor(redact, secrets), limit)


def message_with(error: BaseException, redactor: Redactor, limit: int) -> str:
    """`message_of` with a redactor that counts."""
    try:
        text = _message(error, redactor, limit, 0)
    except Exception as problem:
        text = "<{} while its message was read>".format(static.simple_name(type(problem)))
    return cut(text, limit)


def _message(error: BaseException, redactor: Redactor, limit: int, depth: int) -> str:
    cls = type(error)
    spell = static.class_attribute(cls, "__str__")
    if type(spell) is not types.WrapperDescriptorType:
        return _own_message(error, redactor, limit)
    args = static.exception_args(error)
    owner = spell.__objclass__
    if owner is KeyError and len(args) == 1:
        return safe_repr(args[0], limit, "", redactor)
    if owner is OSError and 2 <= len(args) <= 5:
        return _os_message(error, args, redactor, limit)
    if owner not in (BaseException, KeyError, OSError) and static.is_compiled(owner) and _all_plain(error, args):
        return redactor.text(spell(error)[: limit * 2])
    if not args:
        return ""
    if len(args) > 1:
        return safe_repr(args, limit, "", redactor)
    only = args[0]
    if static.derives(type(only), str):
        return redactor.text(str.__getitem__(only, slice(0, limit * 2)))
    if static.derives(type(only), BaseException) and depth < 3:
        return _message(only, redactor, limit, depth + 1)
    return safe_repr(only, limit, "", redactor)


def _own_message(error: BaseException, redactor: Redactor, limit: int) -> str:
    try:
        text = str(error)
    except KeyboardInterrupt:
        raise
    except BaseException as problem:  # whatever a program's __str__ raises, the error itself is what matters
        return "<__str__ raised {}> {}".format(
            static.simple_name(type(problem)), safe_repr(static.exception_args(error), limit, "", redactor))
    return redactor.text(str.__getitem__(text, slice(0, limit * 2)))


def _os_message(error: Any, args: Tuple[Any, ...], redactor: Redactor, limit: int) -> str:
    first, second = (OSError.__dict__[name].__get__(error) for name in ("filename", "filename2"))
    number, reason = (
        redactor.text(part[:limit]) if type(part) is str else safe_repr(part, limit, "", redactor) for part in args[:2])
    text = "[Errno {}] {}".format(number, reason)
    if first is not None:
        text += ": " + safe_repr(first, limit, "", redactor)
    if second is not None:
        text += " -> " + safe_repr(second, limit, "", redactor)
    return text


def _all_plain(error: BaseException, args: Tuple[Any, ...]) -> bool:
    """Whether C code can spell ``error`` without asking any object of the program."""
    waiting = list(args)
    for name in ("msg", "filename", "name", "path", "encoding", "reason", "message"):
        descriptor = static.class_attribute(type(error), name)
        if type(descriptor) is types.MemberDescriptorType:
            waiting.append(static.attribute(error, name))
    for item in waiting[:50]:
        if type(item) is tuple:
            waiting.extend(item)
        elif not any(type(item) is scalar for scalar in _SCALARS) and type(item) is not list:
            return False
    return True


# --------------------------------------------------------------------------- traceback


class Entry(NamedTuple):
    """One frame in a traceback."""

    file: str
    line: int
    function: str
    text: str


def traceback_text(
    error: BaseException, frame: FrameType, redactor: Redactor, most_entries: int, limit: int
) -> str:
    """The traceback from the test or program down to where ``error`` was raised, as Python prints it.

    ``frame`` is where it is paused. Exceptions that led to ``error`` come first. Frames of the runner outside the
    test and of ours are left out; a long middle part is cut, which is marked.
    """
    parts = []
    for earlier, link in _led_to(error):
        parts.append(_printed(_below(_traceback_of(earlier)), earlier, redactor, most_entries, limit // 4))
        parts.append(link)
    entries = _above(frame) + _below(_traceback_of(error))
    text = "\n".join(parts + [_printed(entries, error, redactor, most_entries, limit)])
    if len(text) <= limit:
        return text
    head = limit // 3
    return "{}\n  ... {} characters left out ...\n{}".format(text[:head], len(text) - limit, text[head - limit :])


def _printed(entries: List[Entry], error: BaseException, redactor: Redactor, most: int, limit: int) -> str:
    lines = ["Traceback (most recent call last):"]
    head = most // 4
    for number, entry in enumerate(entries):
        left_out = len(entries) - most
        if left_out > 0 and number == head:
            lines.append("  ... {} frames left out ...".format(left_out))
        if left_out > 0 and head <= number < head + left_out:
            continue
        lines.append('  File "{}", line {}, in {}'.format(entry.file, entry.line, entry.function))
        if entry.text:
            lines.append("    " + cut(redactor.source(entry.text), 300))
    name = static.qualified_name(type(error))
    message = message_with(error, redactor, max(limit // 2, 200))
    lines.append("{}: {}".format(name, message) if message else name)
    notes = static.attribute(error, "__notes__")
    if type(notes) is list:
        lines.extend(redactor.text(cut(note, 500)) for note in notes[:10] if type(note) is str)
    return "\n".join(lines)


def _led_to(error: BaseException) -> List[Tuple[BaseException, str]]:
    """The last few exceptions that led to ``error``, first one first, each with the sentence that links it on."""
    found: List[Tuple[BaseException, str]] = []
    current: Optional[BaseException] = error
    while current is not None and len(found) < 3:
        cause, context = _cause_of(current), _context_of(current)
        if cause is not None:
            link = "\nThe above exception was the direct cause of the following exception:\n"
        elif context is not None and not _suppressed(current):
            link = "\nDuring handling of the above exception, another exception occurred:\n"
        else:
            break
        current = cause if cause is not None else context
        if current is error or any(current is seen for seen, _ in found):
            break
        found.insert(0, (current, link))
    return found


def _module_of(frame: FrameType) -> str:
    name = dict.get(frame.f_globals, "__name__")
    return name if type(name) is str else ""


def _is_runner(module: str) -> bool:
    return module.partition(".")[0] in _RUNNERS or module in _RUNNER_MODULES


def _entry(frame: FrameType, line: int) -> Entry:
    code = frame.f_code
    lines = sources.lines_of(code.co_filename, frame.f_globals)
    text = lines[line - 1].strip() if 0 < line <= len(lines) else ""
    return Entry(code.co_filename, line, code.co_name, text)


def _above(frame: FrameType) -> List[Entry]:
    """The callers of ``frame`` up to the test or program, outermost first."""
    found: List[Entry] = []
    outer = frame.f_back
    while outer is not None:
        module = _module_of(outer)
        if _is_runner(module):
            break
        if not module.startswith(_OURS):
            found.append(_entry(outer, outer.f_lineno or 0))
        outer = outer.f_back
    found.reverse()
    return found


def _below(tb: Optional[TracebackType]) -> List[Entry]:
    found: List[Entry] = []
    while tb is not None:
        if not _module_of(tb.tb_frame).startswith(_OURS):
            found.append(_entry(tb.tb_frame, tb.tb_lineno or 0))
        tb = tb.tb_next
    return found
