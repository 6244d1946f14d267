"""Heal code to code objects: which names it binds where, and what it cannot contain. May import guard; pure."""

import __future__

import ast
from types import CodeType
from typing import Any, Callable, FrozenSet, Iterable, List, NamedTuple, Optional, Set, Tuple

from healguard_core.execution.guard.enforcement import Watch

VALUE = "@value"  # holds the value of a last expression; not a name that source can spell
RETURN, RAISE = "_eh_rtn", "_eh_raise"
CONTROLS = (VALUE, RETURN, RAISE)

_FLAGS = 0
for _feature in __future__.all_feature_names:
    _FLAGS |= getattr(__future__, _feature).compiler_flag

_ADVICE = {
    "Return": "`return` cannot run in a heal; to leave the function set `_eh_rtn = value`",
    "Yield": "`yield` cannot run in a heal; bind the value that the program's own `yield` uses",
    "YieldFrom": "`yield from` cannot run in a heal; bind the value that the program's own `yield` uses",
    "Await": "`await` cannot run in a heal; call code that does not wait, or use `resume: retry`",
    "AsyncFor": "`async for` cannot run in a heal; use plain `for`",
    "AsyncWith": "`async with` cannot run in a heal; use plain `with`",
    "Continue": "`continue` outside a loop of the heal; submit with `resume: continue` for the program's loop",
    "Break": "`break` outside a loop of the heal; submit with `resume: break` for the program's loop",
}


class Names(NamedTuple):
    """What heal code binds in the frame's own scope.

    ``plain``: by assignment, ``del``, ``def`` and ``class``. ``passing``: only as targets of ``for``, ``with``,
    ``except``, ``import``, ``match`` or a comprehension's walrus. ``asked_global``: named in a ``global`` statement.
    """

    plain: FrozenSet[str]
    passing: FrozenSet[str]
    asked_global: FrozenSet[str]


class Parsed(NamedTuple):
    """Heal code that may run: its statements, with a last expression turned into a binding of `VALUE`."""

    body: List[ast.stmt]
    names: Names
    label: str
    flags: int
    seal: Callable[[CodeType], CodeType]  # finishes the compiled code


def parse(source: str, label: str, code: CodeType, private: str, watch: Optional[Watch] = None) -> Parsed:
    """Read ``source`` for a frame of ``code`` inside class ``private`` ("" outside of classes).

    ``watch`` puts its checks into the statements.

    Raises ``SyntaxError`` for what cannot run in a heal, and whatever else ``compile`` raises for text it cannot read.
    """
    flags = code.co_flags & _FLAGS
    tree = compile(source, label, "exec", flags | ast.PyCF_ONLY_AST, True)
    assert isinstance(tree, ast.Module)
    if private.strip("_"):
        _Mangler(private.lstrip("_")).visit(tree)
    reader = _Reader(source, label)
    reader.read(tree.body)
    plain = frozenset(reader.plain | ({VALUE} if _keep_value(tree.body) else set()))
    names = Names(plain, frozenset(reader.passing) - plain, frozenset(reader.asked_global))
    body = [_Undeclared().visit(statement) for statement in tree.body]
    if watch is not None:
        body = watch.rewrite(body, source)
    return Parsed(body or [ast.Pass(lineno=1, col_offset=0)], names, label, flags, watch.seal if watch else _as_it_is)


def _as_it_is(code: CodeType) -> CodeType:
    return code


def _keep_value(body: List[ast.stmt]) -> bool:
    """Turn a last expression statement into a binding of `VALUE`; whether there was one."""
    if not body or not isinstance(body[-1], ast.Expr):
        return False
    last = body[-1]
    target = ast.copy_location(ast.Name(VALUE, ast.Store()), last)
    body[-1] = ast.copy_location(ast.Assign([target], last.value), last)
    return True


def compile_module(parsed: Parsed) -> CodeType:
    """Code for module level, class bodies and ``exec``: names live in a mapping."""
    body = [_declaration(ast.Global, parsed.names.asked_global)] if parsed.names.asked_global else []
    tree = ast.Module(body + parsed.body, [])
    code = compile(ast.fix_missing_locations(tree), parsed.label, "exec", parsed.flags, True)
    assert isinstance(code, CodeType)
    return parsed.seal(code)


def compile_function(parsed: Parsed, free: Iterable[str], written_globals: Iterable[str], argument: bool) -> CodeType:
    """Code of a function that sees ``free`` as its closure, as any function nested in the frame would.

    The code's ``co_freevars`` say in which order the closure has to come. With ``argument`` it takes one argument,
    which ``super()`` uses.
    """
    free = sorted(free)
    tree = ast.parse("def scope():\n def heal(): pass")
    scope = tree.body[0]
    assert isinstance(scope, ast.FunctionDef)
    heal = scope.body[0]
    assert isinstance(heal, ast.FunctionDef)
    heal.name = "<heal>"
    scope.args.args = [ast.arg(name, None) for name in free]
    heal.args.args = [ast.arg("@first", None)] if argument else []
    declarations = [_declaration(ast.Nonlocal, free)] if free else []
    written_globals = sorted(written_globals)
    if written_globals:
        declarations.append(_declaration(ast.Global, written_globals))
    heal.body = declarations + parsed.body
    module = compile(ast.fix_missing_locations(tree), parsed.label, "exec", parsed.flags, True)
    return parsed.seal(_inner(_inner(module, "scope"), "<heal>"))


def _declaration(kind: Any, names: Iterable[str]) -> ast.stmt:
    declaration: ast.stmt = kind(sorted(names))
    declaration.lineno, declaration.col_offset = 1, 0
    return declaration


def _inner(code: CodeType, name: str) -> CodeType:
    return next(item for item in code.co_consts if isinstance(item, CodeType) and item.co_name == name)


# --------------------------------------------------------------------------- reading


class _Reader(ast.NodeVisitor):
    """Collects what the heal's own scope binds, and refuses what cannot run there."""

    def __init__(self, source: str, label: str) -> None:
        self.plain: Set[str] = set()
        self.passing: Set[str] = set()
        self.asked_global: Set[str] = set()
        self._lines = source.splitlines()
        self._label = label
        self._loops = 0
        self._bound = self.plain  # where names that are stored now belong
        self._comprehensions = 0

    def read(self, body: List[ast.stmt]) -> None:
        for statement in body:
            self.visit(statement)

    def generic_visit(self, node: ast.AST) -> None:
        name = type(node).__name__
        if name in _ADVICE and not (name in ("Break", "Continue") and self._loops):
            self._refuse(node, _ADVICE[name])
        if name.startswith("Match"):  # capture patterns keep their name in a plain string
            captured = getattr(node, "name", None) or getattr(node, "rest", None)
            if isinstance(captured, str):
                self.passing.add(captured)
        super().generic_visit(node)

    def _refuse(self, node: ast.AST, why: str) -> None:
        line = getattr(node, "lineno", 1)
        text = self._lines[line - 1] if line <= len(self._lines) else ""
        raise SyntaxError(why, (self._label, line, getattr(node, "col_offset", 0) + 1, text))

    def visit_Name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            self._bound.add(node.id)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        (self.passing if self._comprehensions else self.plain).add(node.target.id)
        self.visit(node.value)

    def visit_Global(self, node: ast.Global) -> None:
        self.asked_global.update(node.names)

    def visit_Import(self, node: Any) -> None:
        for alias in node.names:
            self.passing.add(alias.asname or alias.name.partition(".")[0])

    visit_ImportFrom = visit_Import

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self.passing.add(node.name)
        self.generic_visit(node)

    def _visit_target(self, target: Optional[ast.AST]) -> None:
        if target is not None:
            before, self._bound = self._bound, self.passing
            self.visit(target)
            self._bound = before

    def visit_withitem(self, node: ast.withitem) -> None:
        self.visit(node.context_expr)
        self._visit_target(node.optional_vars)

    def visit_For(self, node: ast.For) -> None:
        self.visit(node.iter)
        self._visit_target(node.target)
        self._visit_loop(node.body, node.orelse)

    def visit_While(self, node: ast.While) -> None:
        self.visit(node.test)
        self._visit_loop(node.body, node.orelse)

    def _visit_loop(self, body: List[ast.stmt], orelse: List[ast.stmt]) -> None:
        self._loops += 1
        self.read(body)
        self._loops -= 1
        self.read(orelse)

    def visit_FunctionDef(self, node: Any) -> None:
        self.plain.add(node.name)
        for expression in node.decorator_list + node.args.defaults + [d for d in node.args.kw_defaults if d]:
            self.visit(expression)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.plain.add(node.name)
        for expression in node.decorator_list + node.bases + [keyword.value for keyword in node.keywords]:
            self.visit(expression)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        for expression in node.args.defaults + [default for default in node.args.kw_defaults if default]:
            self.visit(expression)

    def _visit_comprehension(self, node: Any) -> None:
        """Targets belong to the comprehension, a walrus to the heal."""
        for generator in node.generators:
            if generator.is_async:
                self._refuse(node, _ADVICE["AsyncFor"])
        targets: Set[str] = set()
        before, self._bound = self._bound, targets
        self._comprehensions += 1
        super().generic_visit(node)
        self._comprehensions -= 1
        self._bound = before

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _visit_comprehension


class _Undeclared(ast.NodeTransformer):
    """Takes the heal's own declarations out: they are made anew, at the start of the generated scope."""

    def visit_Global(self, node: ast.Global) -> ast.stmt:
        return ast.copy_location(ast.Pass(), node)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.stmt:
        return ast.copy_location(ast.Pass(), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        """Annotated names cannot be nonlocal; the annotation of a local means nothing."""
        if not isinstance(node.target, ast.Name):
            return node
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return ast.copy_location(ast.Assign([node.target], node.value), node)

    def _other_scope(self, node: ast.AST) -> ast.AST:
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _other_scope


_NAME_FIELDS = ("id", "attr", "arg", "name", "asname", "rest")


class _Mangler(ast.NodeTransformer):
    """Writes private names (``__x``) as the compiler does inside a class."""

    def __init__(self, private: str) -> None:
        self._private = private

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.ClassDef):  # a class of its own inside the heal
            node.name = self._mangled(node.name)
            return node
        for field in _NAME_FIELDS:
            value = getattr(node, field, None)
            if isinstance(value, str) and not (isinstance(node, ast.alias) and field == "name"):
                setattr(node, field, self._mangled(value))
        for field in ("names", "kwd_attrs"):
            value = getattr(node, field, None)
            if isinstance(value, list):
                setattr(node, field, [self._mangled(v) if isinstance(v, str) else v for v in value])
        return self.generic_visit(node)

    def _mangled(self, name: str) -> str:
        if not name.startswith("__") or name.endswith("__") or "." in name:
            return name
        return "_{}{}".format(self._private, name)


# --------------------------------------------------------------------------- the class around a frame's code


def private_class(code: CodeType, source_lines: List[str]) -> str:
    """The name of the class whose private names ``code`` uses, "" where there is none or nobody can tell."""
    qualname = getattr(code, "co_qualname", None)  # 3.11+
    if qualname is None:
        qualname = _qualname_in(source_lines, code)
    is_class_body = not code.co_flags & 1 and code.co_name != "<module>"
    if is_class_body:
        return code.co_name
    parts = qualname.split(".")[:-1]
    while parts:
        last = parts.pop()
        if last != "<locals>":
            return str(last)
        parts.pop()
    return ""


def _qualname_in(lines: List[str], code: CodeType) -> str:
    """The qualified name of ``code`` by its place in the source; its bare name where that is not found."""
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return code.co_name
    todo: List[Tuple[ast.AST, str]] = [(tree, "")]
    while todo:
        node, prefix = todo.pop()
        for child in ast.iter_child_nodes(node):
            name = "<lambda>" if isinstance(child, ast.Lambda) else getattr(child, "name", None)
            inner = prefix
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                first = min([child.lineno] + [d.lineno for d in getattr(child, "decorator_list", [])])
                if first == code.co_firstlineno and name == code.co_name:
                    return prefix + name
                inner = "{}{}.<locals>.".format(prefix, name)
            elif isinstance(child, ast.ClassDef):
                inner = "{}{}.".format(prefix, name)
            todo.append((child, inner))
    return code.co_name


