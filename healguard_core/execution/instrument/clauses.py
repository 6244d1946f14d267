"""Which errors the program's own ``try`` takes for certain, told from its source alone. Imports nothing of ours.

An error that a handler of the same function takes is nobody's business but the program's. Where that can be told
when a file is rewritten, nothing has to be asked when the error comes. "For certain" means: the names in the clause can
be evaluated once more with nothing happening, and the handler goes on whatever it does. What is not certain is left
to the decision at run time, which sees the values.
"""

import ast
import builtins
from typing import Any, FrozenSet, List, NamedTuple, Optional, Set, Tuple

_BUILTIN = frozenset(
    name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, BaseException)
)
_EVERYTHING = frozenset(["Exception", "BaseException"])

def _words(table: str) -> FrozenSet[str]:
    return frozenset(table.split())


# Classes of standard modules that every version has, as attributes of a module that a plain ``import`` bound.
_STANDARD = _words("""
asyncio.CancelledError asyncio.TimeoutError asyncio.QueueEmpty asyncio.QueueFull binascii.Error configparser.Error
copy.Error csv.Error decimal.InvalidOperation json.JSONDecodeError locale.Error os.error pickle.PickleError
pickle.PicklingError pickle.UnpicklingError queue.Empty queue.Full re.error select.error shutil.Error socket.error
socket.gaierror socket.herror socket.timeout sqlite3.Error ssl.SSLError struct.error subprocess.CalledProcessError
subprocess.SubprocessError subprocess.TimeoutExpired zipfile.BadZipFile zlib.error
""")

# Calls that may be all of a handler's statement: each returns, or fails with an error that is one of its own.
_RETURNING = _words("""
debug info warning warn exception critical log
add append appendleft clear close copy count decode discard encode endswith extend format get index insert isdigit items
join keys lower lstrip pop popleft remove replace rstrip setdefault sort split splitlines startswith strip update upper
values write
bool bytes dict float frozenset getattr hasattr id int isinstance issubclass iter len list max min object print range
repr round set setattr sorted str sum super tuple type vars zip
""")
_READING = _words("""
debug info warning warn exception critical log print str repr format isinstance len type getattr hasattr
""")
_READS_EXCEPTION = frozenset(["exc_info", "exception", "with_traceback"])


class Caught(NamedTuple):
    """``names``: dotted names of classes whose instances are taken, as they stand; ``everything``: so is all else."""

    names: Tuple[str, ...] = ()
    everything: bool = False


NOTHING = Caught()


class Bound:
    """The names that a module has surely bound by now, so that reading one cannot fail."""

    def __init__(self) -> None:
        self._names: Set[str] = set(_BUILTIN)
        self._modules: Set[str] = set()

    def after(self, statement: Any) -> None:
        """Take in one statement of the module's own block."""
        cls = statement.__class__
        if cls is ast.ClassDef or cls is ast.FunctionDef:
            self._bind(statement.name)
        elif cls is ast.ImportFrom:
            for alias in statement.names:
                self._bind(alias.asname or alias.name)
        elif cls is ast.Import:
            for alias in statement.names:
                self._bind(alias.asname or alias.name.partition(".")[0])
                if alias.asname in (None, alias.name):
                    self._modules.add(alias.name.partition(".")[0])
        elif cls is ast.Assign:
            for target in statement.targets:
                if target.__class__ is ast.Name:
                    self._bind(target.id)
        elif cls is ast.Delete or cls is ast.Try:
            for name in _unbound(statement):
                self._names.discard(name)

    def _bind(self, name: str) -> None:
        self._names.add(name)
        self._modules.discard(name)

    def names_in(self, kind: Any) -> Optional[Tuple[str, ...]]:
        """The dotted names that the type ``kind`` of a clause consists of; None when reading one might do something."""
        if kind.__class__ is ast.Tuple:
            found: List[str] = []
            for element in kind.elts:
                names = self.names_in(element) if element.__class__ is not ast.Tuple else None
                if names is None:
                    return None
                found.extend(names)
            return tuple(found)
        if kind.__class__ is ast.Name:
            return (kind.id,) if kind.id in self._names else None
        if kind.__class__ is ast.Attribute and kind.value.__class__ is ast.Name and kind.value.id in self._modules:
            name = "{}.{}".format(kind.value.id, kind.attr)
            return (name,) if name in _STANDARD else None
        return None


def _unbound(statement: Any) -> List[str]:
    """Names that may be gone after ``del`` or an ``except ... as`` at module level."""
    if statement.__class__ is ast.Delete:
        return [target.id for target in statement.targets if target.__class__ is ast.Name]
    return [handler.name for handler in statement.handlers if handler.name]


def inside(node: Any, around: Caught, bound: Bound) -> Caught:
    """What is taken from the body of ``try`` statement ``node``, where ``around`` is what is taken from ``node``."""
    names: Tuple[str, ...] = ()
    for handler in node.handlers:
        if not _goes_on(handler):
            return Caught(names)
        if handler.type is None:
            return Caught((), True)
        more = bound.names_in(handler.type)
        if more is None:
            return Caught(names)
        if not _EVERYTHING.isdisjoint(more):
            return Caught((), True)
        names += more
    beyond = NOTHING if node.finalbody else around
    return Caught(names + beyond.names, beyond.everything)


def _goes_on(handler: Any) -> bool:
    """Whether the handler ends without an exception and keeps none, as far as its form tells."""
    waiting: List[Any] = list(handler.body)
    while waiting:
        node = waiting.pop()
        cls = node.__class__
        if cls in _RAISING or (cls in _WITH_VALUE and not _returns(node.value)):
            return False
        if cls in _DEFINITIONS:
            continue
        for child in ast.iter_child_nodes(node):
            if isinstance(child, _NESTED):
                waiting.append(child)
            elif _holds(child, handler.name):
                return False
    return True


_RAISING = (ast.Raise, ast.Assert)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_WITH_VALUE = (ast.Expr, ast.Return, ast.Assign, ast.AnnAssign, ast.AugAssign)
_CASE = getattr(ast, "match_case", ast.ExceptHandler)  # Python 3.10
_NESTED = (ast.stmt, ast.ExceptHandler, _CASE)


def _returns(value: Any) -> bool:
    """Whether a statement that evaluates ``value`` is known to lead on to the next one."""
    if value.__class__ is ast.Await:
        value = value.value
    return value.__class__ is not ast.Call or _called(value) in _RETURNING


def _holds(node: Any, caught: Optional[str]) -> bool:
    """Whether the value of ``node`` may be, or hold, the exception that the handler calls ``caught``."""
    cls = node.__class__
    if cls is ast.Name:
        return node.id == caught  # type: ignore[no-any-return]
    if cls is ast.Attribute and node.value.__class__ is ast.Name:
        return False
    if cls is ast.Call:
        name = _called(node)
        if name in _READS_EXCEPTION and not node.args:
            return True
        if name in _READING:
            return False
    return any(_holds(child, caught) for child in ast.iter_child_nodes(node))


def _called(call: Any) -> str:
    return getattr(call.func, "attr", getattr(call.func, "id", ""))
