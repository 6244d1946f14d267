"""What the names of a heal mean: imports, names that it binds, and builtins. Imports only the tables and `reading`."""

import ast
from typing import AbstractSet, Callable, Dict, List, Optional, Set, Tuple

from healguard_core.execution.guard import allowed_imports, healcore
from healguard_core.execution.guard.reading import Source

LiveImport = Callable[[str, str], Optional[object]]
"""(module, attribute) -> the live object, or None when the module is not imported or lacks the attribute."""

PURE_METHOD_TYPES = frozenset({"str", "bytes", "int", "float"})


class Scope:
    """Names of one piece of code. Flow-insensitive: a name means everything that it may mean anywhere in the code."""

    def __init__(
        self, source: Source, purpose: str, live_import: Optional[LiveImport], shadowed: AbstractSet[str]
    ) -> None:
        self.source = source
        self.purpose = purpose
        self.live_import = live_import
        self.shadowed = frozenset(shadowed) & healcore.BUILTINS
        self.modules: Dict[str, str] = {}
        self.members: Dict[str, Tuple[str, str]] = {}
        self.imported: Set[str] = set()
        self.stored: Set[str] = set()
        self.types: Set[str] = set()
        self.conflicts: List[ast.AST] = []
        for node in source.nodes:
            self._collect(node)

    def _collect(self, node: ast.AST) -> None:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            self.stored.add(node.id)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            self.stored.add(node.name)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                self._bind_module(node, alias)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            for alias in node.names:
                self._bind_member(node, node.module, alias)
        elif isinstance(node, (ast.Assign, ast.NamedExpr)) and self.is_type_call(node.value):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            self.types.update(target.id for target in targets if isinstance(target, ast.Name))

    def _bind_module(self, node: ast.AST, alias: ast.alias) -> None:
        self.imported.add(alias.name)
        if alias.asname:
            self._bind(node, alias.asname, alias.name, None)
        else:
            self._bind(node, alias.name.partition(".")[0], alias.name.partition(".")[0], None)

    def _bind_member(self, node: ast.AST, module: str, alias: ast.alias) -> None:
        path = module + "." + alias.name
        if path in allowed_imports.ALLOWED:
            self.imported.add(path)
            self._bind(node, alias.asname or alias.name, path, None)
        else:
            self._bind(node, alias.asname or alias.name, module, alias.name)

    def _bind(self, node: ast.AST, name: str, module: str, member: Optional[str]) -> None:
        before = (self.modules.get(name), self.members.get(name))
        if member is None:
            self.modules[name] = module
        else:
            self.members[name] = (module, member)
        if before != (None, None) and before != (self.modules.get(name), self.members.get(name)):
            self.conflicts.append(node)

    def is_builtin(self, name: str) -> bool:
        """Whether ``name`` certainly means the builtin here: nothing in the heal or the frame hides it."""
        return (
            name in healcore.BUILTINS
            and name not in self.stored
            and name not in self.shadowed
            and name not in self.modules
            and name not in self.members
        )

    def module_of(self, node: ast.AST) -> Optional[str]:
        """The path of the module that this code imported and ``node`` names, or None."""
        names: List[str] = []
        while isinstance(node, ast.Attribute):
            names.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self.modules:
            return None
        path = self.modules[node.id]
        for name in reversed(names):
            path = path + "." + name
            if path not in allowed_imports.ALLOWED and not self._is_way_to_import(path):
                return None
        return path

    def _is_way_to_import(self, path: str) -> bool:
        return any(known == path or known.startswith(path + ".") for known in self.imported)

    def callee(self, node: ast.AST) -> str:
        """The dotted name of the builtin or allowed import that ``node`` certainly refers to, else ""."""
        if isinstance(node, ast.Name):
            if node.id in self.stored:
                return ""
            if node.id in self.members:
                return ".".join(self.members[node.id])
            return node.id if self.is_builtin(node.id) else ""
        if isinstance(node, ast.Attribute):
            module = self.module_of(node.value)
            if module is not None:
                return module + "." + node.attr
            if isinstance(node.value, ast.Name) and self.is_builtin(node.value.id):
                return node.value.id + "." + node.attr
        return ""

    def likely_callee(self, node: ast.AST) -> str:
        """As `callee`, but also what ``node`` usually means: `re.sub` of the frame's own `re`, or a builtin that the
        heal may have given another meaning. Good enough to ask for more, never to allow."""
        if isinstance(node, ast.Name):
            if node.id in self.shadowed or node.id in self.members:
                return self.callee(node)
            return node.id
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            return self.callee(node) or node.value.id + "." + node.attr
        return self.callee(node)

    def is_type_call(self, node: ast.AST) -> bool:
        """Whether ``node`` gives a class of the program: ``type(x)`` or ``x.__class__``."""
        if isinstance(node, ast.Attribute):
            return node.attr == "__class__"
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "type"

    def is_class(self, node: ast.AST) -> bool:
        """Whether ``node`` is ``type(x)``, ``x.__class__``, or a name that the heal assigned from one."""
        return self.is_type_call(node) or (isinstance(node, ast.Name) and node.id in self.types)
