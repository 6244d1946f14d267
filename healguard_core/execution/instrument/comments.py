"""``# heal: off``: the lines on which an author asks to be left alone. Imports nothing of ours."""

import io
import re
import tokenize
from typing import FrozenSet

_OFF = re.compile(r"#.*\bheal:\s*off\b")


def off_lines(source: str) -> FrozenSet[int]:
    """Numbers of the lines where code is followed by ``# heal: off``. A comment on a line of its own does not count."""
    if "heal:" not in source:
        return frozenset()
    found = set()
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT and _OFF.match(token.string) and token.line[: token.start[1]].strip():
                found.add(token.start[0])
    except (tokenize.TokenError, SyntaxError):
        # The parser accepted the file, so this is a difference between the two tokenizers (old versions have some).
        # What was found before it counts.
        pass
    return frozenset(found)
