"""The rule codes of the gate: what each means and what to write instead. Imports nothing of ours but the protocol."""

import dataclasses
from typing import Dict

DANGEROUS = "dangerous"
"""Severity: reaches for the interpreter, the system or the guard."""

UNSUPPORTED = "unsupported"
"""Severity: merely outside the subset."""


@dataclasses.dataclass(frozen=True)
class Rule:
    """One rule: its title for people and its default advice for whoever wrote the code."""

    title: str
    advice: str


RULES: Dict[str, Rule] = {
    "HC100": Rule("not readable as Python", "send plain Python statements that this Python version can parse"),
    "HC101": Rule("too large or too deeply nested", "keep a heal short: do the work in several small statements"),
    "HC102": Rule(
        "construct outside HealCore",
        "write straight-line statements: assignments, calls, if, for, while, with, try/except, comprehensions",
    ),
    "HC103": Rule(
        "unknown kind of syntax", "HealCore does not know this construct yet; write it with older, simpler statements"
    ),
    "HC110": Rule("interpreter internals", "work on the program's values through their public attributes and methods"),
    "HC111": Rule(
        "frames, code objects and generators from inside", "use the values, not the machinery that runs them"
    ),
    "HC112": Rule("class-private name", "write the mangled name that the class uses: _ClassName__name"),
    "HC113": Rule(
        "reserved healing name", "only `_eh_rtn = value` (return) and `_eh_raise = exception` (raise) are defined"
    ),
    "HC114": Rule(
        "a system module read as an attribute", "use only the values that the heal needs, never os, sys or alike"
    ),
    "HC115": Rule(
        "operation with an effect outside the program's memory",
        "a heal changes values in memory only; leave files, processes and the network to the program",
    ),
    "HC120": Rule("import of a system module", "a heal needs no system access; change the program's values instead"),
    "HC121": Rule(
        "import that is not allowed",
        "use a module of the list in docs/healcore.md, or a value that the frame already has",
    ),
    "HC122": Rule("name of a module that is not allowed", "use one of the module's names listed in docs/healcore.md"),
    "HC123": Rule("form of import that is not allowed", "write `import module` or `from module import name`"),
    "HC124": Rule("module used as a value", "use a module only as `module.name`"),
    "HC126": Rule(
        "change to a module or a class", "change the object at hand, not the module or class that others share"
    ),
    "HC130": Rule(
        "builtin that reaches the interpreter or the system", "write the operation out on the values at hand"
    ),
    "HC131": Rule("builtin outside HealCore", "write the operation out with plain statements"),
    "HC132": Rule(
        "builtin used in a form that is not allowed", "call it directly, in the form shown in docs/healcore.md"
    ),
    "HC133": Rule(
        "system operation of a module in the frame", "a heal may use os.path and constants of os and sys, nothing else"
    ),
    "HC134": Rule(
        "callable passed where the guard cannot see its calls",
        "pass a pure builtin such as len or str.lower, or call the function yourself in a loop or comprehension",
    ),
    "HC135": Rule(
        "format template that could read attributes", "use an f-string, or a literal template with plain fields"
    ),
    "HC140": Rule("handler that would catch too much", "name the errors to handle: `except (KeyError, ValueError):`"),
    "HC141": Rule("loop without a visible end", "loop over a collection or a range, or leave the loop with `break`"),
    "HC142": Rule("value that could grow without bound", "use numbers and sizes of ordinary magnitude"),
    "HC143": Rule("name that must keep its meaning", "choose another name for the variable"),
    "HC144": Rule(
        "target that is not allowed here", "bind a plain name here and assign it on in a statement of its own"
    ),
    "HC145": Rule("generator that outlives the heal", "build a list: write [...] instead of (...)"),
    "HC150": Rule(
        "more than an expression without effects",
        "write one expression: names, attributes, comparisons, and calls of pure builtins or read-only methods",
    ),
}
