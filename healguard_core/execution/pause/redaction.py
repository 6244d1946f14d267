"""Withholding of secrets from text and values that leave the process under test. Imports nothing of ours.

Three sources of suspicion: the *name* a value stands under, the *shape* of known credentials, and *randomness*.
Ordinary values (paths, identifiers, UUIDs, hex digests, base64 images, dotted names) stay readable, because an
agent that cannot read them cannot heal.
"""

import re
from math import log2
from typing import Any, Callable, Dict, FrozenSet, List, Mapping, Match, Pattern, Sequence, Tuple

STRONG = 2
"""Secrecy of a name: whatever plain value stands there is withheld."""
WEAK = 1
"""Secrecy of a name that has innocent uses too (a lexer's ``token``): withheld when the value looks made up."""
OPEN = 0
"""Secrecy of every other name."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")



def _words(text: str) -> FrozenSet[str]:
    return frozenset(text.split())


_STRONG_WORDS = _words(
    "password passwd passphrase passcode pwd secret secrets authorization credential credentials creds apikey auth "
    "passwords mfa otp totp cvv cvc ssn pin bearer"
)
_STRONG_ENDINGS = ("password", "passwd", "passphrase", "apikey", "secretkey", "privatekey", "accesskey", "authtoken",
                   "accesstoken", "refreshtoken", "sessionid", "sessionkey")
_STRONG_PAIRS = frozenset(
    (first, last)
    for firsts, last in (
        ("api private secret access encryption signing master session license account ssh gpg hmac shared", "key"),
        ("access api auth refresh bearer csrf xsrf id session security jwt oauth bot personal login reset user "
         "github gitlab slack npm pypi", "token"),
        ("session", "id"),
        ("set", "cookie"),
        ("card", "number"),
    )
    for first in _words(firsts)
)
_WEAK_WORDS = _words("token tokens session cookie cookies jwt csrf nonce salt")
_ABOUT = _words(
    "length len count size min max field fields form label url uri path file filename dir type types kind class cls "
    "policy required expires expiry expired timeout ttl age lifetime enabled disabled changed help regex pattern "
    "valid validator validators error errors func function callback factory handler backend hasher model view route "
    "endpoint name names header method scheme prefix suffix index idx position pos stream iter iterator list "
    "tokenizer manager store engine maker domain flags mode"
)
"""Last words that make a name speak *about* a secret (``password_length``) rather than hold it."""
_PATH = re.compile(r"(?:~?/|[A-Za-z]:[\\\\/])[\w.+@ -]+[/\\\\][\w.+@ /\\\\-]*$")
_WEAK_SIZE = 6
_WEAK_RUN = 16


def name_secrecy(name: str) -> int:
    """How secret a value under ``name`` is to be held: `STRONG`, `WEAK` or `OPEN`.

    Matching is by whole words (snake, camel or kebab case) of what follows the last dot.
    """
    words = [word.lower() for word in _WORD.findall(name[-200:].rpartition(".")[2])]
    if not words:
        return OPEN
    if words[-1] in _ABOUT:
        return OPEN
    if any((words[n - 1], word) in _STRONG_PAIRS for n, word in enumerate(words) if n):
        return STRONG
    if any(word in _STRONG_WORDS or word.endswith(_STRONG_ENDINGS) for word in words):
        return STRONG
    return WEAK if any(word in _WEAK_WORDS for word in words) else OPEN


def kind_of_name(name: str) -> str:
    """The word of ``name`` to show in place of a withheld value."""
    words = [word.lower() for word in _WORD.findall(name[-200:].rpartition(".")[2])]
    return " ".join(words[-3:]) or "value"


def looks_made_up(text: str) -> bool:
    """Whether ``text`` under a `WEAK` name is more likely a credential than a word or a few of them."""
    if len(text) < _WEAK_SIZE:
        return False
    if any(character.isdigit() for character in text):
        return True
    return any(len(run) >= _WEAK_RUN for run in re.split(r"[\W_]+", text))


def is_path(text: str) -> bool:
    """Whether ``text`` reads like an absolute path, which tells where a secret is but not what it is."""
    return bool(_PATH.match(text)) and not any(looks_random(part) for part in re.split(r"[/\\\\]", text))


# --------------------------------------------------------------------------- shapes

_KNOWN = [
    ("private key", r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
                    r"(?:(?!-----END )[\s\S]){0,20000}(?:-----END [A-Z0-9 ]{0,40}-----)?"),
    ("jwt", r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?"),
    ("aws key", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b"),
    ("github token", r"\b(?:gh[opusr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})"),
    ("gitlab token", r"\bgl(?:pat|ptt|dt|rt|cbt)-[A-Za-z0-9_-]{16,}"),
    ("slack token", r"\bx(?:ox[abeoprs]|app)-[A-Za-z0-9-]{10,}"),
    ("slack webhook", r"\bhooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/_-]+"),
    ("api key", r"\b(?:sk|pk|rk)[-_](?:live|test|proj|ant|or|svcacct|admin)[-_][A-Za-z0-9_-]{8,}"
                r"|\bsk-[A-Za-z0-9_-]{16,}"),
    ("google key", r"\bAIza[A-Za-z0-9_-]{30,}|\bya29\.[A-Za-z0-9_-]{20,}|\bGOCSPX-[A-Za-z0-9_-]{20,}"),
    ("package index token", r"\bpypi-AgE[A-Za-z0-9_-]{16,}|\bnpm_[A-Za-z0-9]{30,}"),
    ("service token", r"\bhf_[A-Za-z0-9]{20,}|\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|\bdop_v1_[a-f0-9]{32,}"
                      r"|\b[0-9]{8,10}:AA[A-Za-z0-9_-]{30,}|\bAccountKey=[A-Za-z0-9+/=]{20,}"),
]
_SCHEMES = "bearer|basic|digest|token|apikey|negotiate"
_PARTIAL = [
    ("password", re.compile(
        r"(?P<keep>\b[A-Za-z][A-Za-z0-9+.-]{0,20}://[^\s/:@'\"<>]{0,100}:)(?P<secret>[^\s/@'\"<>]{1,300})(?=@)"
    )),
    ("authorization", re.compile(
        r"(?P<keep>(?i:\bauthorization)[\"']?\s*[:=]\s*b?[\"']?(?:(?i:{0})\s+)?)"
        r"(?P<secret>(?!(?i:{0})\b)[^\s\"',;<>(){{}}\[\]]{{6,}})".format(_SCHEMES)
    )),
    ("authorization", re.compile(
        r"(?P<keep>\b(?:[Bb]earer|[Bb]asic|[Dd]igest)\s+)(?P<secret>(?=[A-Za-z._~+/-]*[0-9=])[A-Za-z0-9._~+/=-]{8,})"
    )),
    ("cookie", re.compile(r"(?P<keep>\b(?i:(?:set-)?cookie):[ \t]*)(?P<secret>[^\s=\"'<>]+=[^\r\n\"'<>]*)")),
]
_KNOWN_ANY = re.compile("|".join("(?P<k{}>{})".format(n, shape) for n, (_, shape) in enumerate(_KNOWN)))

_CARD = re.compile(r"(?<![\w.+-])[2-6](?:[ -]?[0-9]){12,18}(?![\w]|[.-][0-9])")
_CARD_ISSUER = re.compile(r"4|5[1-5]|2[2-7]|3[4-9]|6(?:011|4|5|2)|50|5[6-9]")

_RANDOM = re.compile(
    r"(?<![A-Za-z0-9+/_=.-])(?P<digest>(?:sha(?:1|224|256|384|512)|md5)[-=:])?[A-Za-z0-9+/_=-]{20,}"
)
_RANDOM_LONGEST = 200  # longer ones are content (images, archives), not keys
_CONTENT = ("iVBORw0KGgo", "/9j/", "R0lGOD", "JVBERi0", "UEsDB", "H4sI", "UklGR", "Qk0", "PHN2Zy", "PD94bWw", "AAAB")


def _passes_luhn(digits: str) -> bool:
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 if place % 2 else 1)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def looks_random(word: str) -> bool:
    """Whether ``word`` (letters, digits and ``+/_=-``) reads like a generated key.

    A key mixes lower case, upper case and digits and switches between them at almost every character; words,
    identifiers and paths switch at their joints only, UUIDs and hex digests have two of the three classes.
    """
    if not 20 <= len(word) <= _RANDOM_LONGEST or word.startswith(_CONTENT):
        return False
    counts: Dict[str, int] = {}
    classes = set()
    switches = pairs = longest = 0
    previous, run = "", 0
    for character in word:
        counts[character] = counts.get(character, 0) + 1
        if not character.isalnum():
            previous, run = "", 0
            continue
        current = "d" if character.isdigit() else "u" if character.isupper() else "l"
        classes.add(current)
        run += 1
        longest = max(longest, run)
        if previous:
            pairs += 1
            switches += current != previous
        previous = current
    if len(classes) < 3 or longest < 8 or not pairs:
        return False
    size = len(word)
    entropy = -sum(count / size * log2(count / size) for count in counts.values())
    return entropy >= 3.5 and switches / pairs >= 0.4


# --------------------------------------------------------------------------- free text

_NAMED = re.compile(
    r"(?P<keep>(?<![\w$])(?P<q>[\"']?)(?P<name>[A-Za-z_][\w.-]{0,80})(?P=q)\]?[ \t]*(?P<sign>=>|:=|[=:])(?!=)[ \t]*)"
    r"(?P<prefix>(?:[rbfuRBFU]{1,2}(?=[\"']))?)"
    r"(?P<secret>\"{3}[\s\S]{0,4000}?\"{3}|'{3}[\s\S]{0,4000}?'{3}|\"(?:[^\"\\\n]|\\.){0,2000}\"|'(?:[^'\\\n]|\\.){0,2000}'|(?P<bare>[^\s\"'<>(){}\[\],;&]{3,500}))"
)
_MARK = re.compile(r"<redacted: [a-z0-9 ]+>")
_REFERENCE = re.compile(r"[A-Za-z_][\w]*(?:\.[A-Za-z_]\w*)*$")
_ANNOTATION = _words(
    "str bytes int float bool object any none true false optional null bearer basic digest token negotiate"
)


def mark(kind: str) -> str:
    """What stands in place of a withheld value."""
    return "<redacted: {}>".format(kind)


class Redactor:
    """Withholds secrets and counts them. With ``on=False`` it hands everything through.

    ``count`` is how many values were withheld so far. ``secrets`` are texts known to be secret, however they look
    (`secrets_among` finds them): an error's message repeats what stood under a secret name.
    """

    def __init__(self, on: bool = True, secrets: Sequence[str] = ()) -> None:
        self.on = on
        self._secrets = sorted(secrets, key=len, reverse=True)
        self.count = 0

    def text(self, text: str) -> str:
        """Free text (messages, output, reprs) with everything that looks secret replaced."""
        return self._cleared(text, bare=True)

    def source(self, text: str) -> str:
        """Program text: of what stands under a secret name only literals are replaced, never expressions."""
        return self._cleared(text, bare=False)

    def withholds(self, secrecy: int, text: str) -> bool:
        """Whether plain value ``text`` under a name of this secrecy is to be withheld."""
        if not self.on or not text or is_path(text):
            return False
        return secrecy == STRONG or (secrecy == WEAK and looks_made_up(text))

    def withheld(self, kind: str) -> str:
        """Count one withheld value and return what stands in its place."""
        self.count += 1
        return mark(kind)

    def _cleared(self, text: str, bare: bool) -> str:
        if not self.on or len(text) < 6:
            return text
        # A mark changes what stands around it, so a text is done only when one more pass finds nothing. Every pass
        # that finds something leaves less text to look at, which ends this.
        while True:
            before = self.count
            text = self._pass(text, bare)
            if self.count == before:
                return text

    def _pass(self, text: str, bare: bool) -> str:
        parts = []
        at = 0
        for found in _MARK.finditer(text):  # what is withheld already is kept out of the way
            parts.append(self._clear(text[at:found.start()], bare))
            parts.append(found.group())
            at = found.end()
        parts.append(self._clear(text[at:], bare))
        return "".join(parts)

    def _clear(self, text: str, bare: bool) -> str:
        if not text:
            return text
        for secret in self._secrets:
            while secret in text:
                text = text.replace(secret, self.withheld("secret value"), 1)
        text = _KNOWN_ANY.sub(self._known, text)
        for kind, shape in _PARTIAL:
            text = self._outside(text, shape, self._keeping(kind))
        text = self._outside(text, _NAMED, self._named_bare if bare else self._named_quoted)
        text = self._outside(text, _CARD, self._card)
        return self._outside(text, _RANDOM, self._random)

    @staticmethod
    def _outside(text: str, shape: "Pattern[str]", replace: "Callable[[Match[str]], str]") -> str:
        """Substitute, but never within or across a mark that an earlier step left."""
        parts = [shape.sub(replace, part) for part in _MARK.split(text)]
        marks = _MARK.findall(text) + [""]
        return "".join(part + marks[n] for n, part in enumerate(parts))

    def _known(self, found: "Match[str]") -> str:
        return self.withheld(_KNOWN[int((found.lastgroup or "k0")[1:])][0])

    def _keeping(self, kind: str) -> "Callable[[Match[str]], str]":
        def replace(found: "Match[str]") -> str:
            return found.group("keep") + self.withheld(kind)

        return replace

    def _named_quoted(self, found: "Match[str]") -> str:
        return found.group() if found.group("bare") else self._named(found)

    def _named_bare(self, found: "Match[str]") -> str:
        bare = found.group("bare")
        if not bare:
            return self._named(found)
        # `token: str`, `token=token` and `password=cfg.password` are program text inside messages.
        plain_word = _REFERENCE.match(bare) and found.group("sign") == "=" and found.group("name") == bare
        dotted = "." in bare and _REFERENCE.match(bare)
        if plain_word or dotted or bare.lower() in _ANNOTATION:
            return found.group()
        return self._named(found)

    def _named(self, found: "Match[str]") -> str:
        value = found.group("secret")
        quote = "" if found.group("bare") else value[:3] if value[:3] in ('"""', "'''") else value[0]
        name = found.group("name")
        plain = value[len(quote):-len(quote)] if quote else value
        if not self.withholds(name_secrecy(name), plain):
            return found.group()
        return found.group("keep") + found.group("prefix") + quote + self.withheld(kind_of_name(name)) + quote

    def _card(self, found: "Match[str]") -> str:
        digits = re.sub("[ -]", "", found.group())
        if 13 <= len(digits) <= 19 and _CARD_ISSUER.match(digits) and _passes_luhn(digits):
            return self.withheld("card number")
        return found.group()

    def _random(self, found: "Match[str]") -> str:
        word = found.group()
        return self.withheld("high entropy") if not found.group("digest") and looks_random(word) else word


def secrets_among(values: Mapping[str, object], _dict: Any = object.__getattribute__) -> List[str]:
    """The texts of six characters and more that stand under secret names: directly, in a dictionary, on an object."""
    found: List[str] = []
    for name, value in list(values.items()):
        _collect(name, value, found)
        inner = value if type(value) is dict else None
        if inner is None and not isinstance(value, type):
            try:
                inner = _dict(value, "__dict__")
            except AttributeError:
                continue
        if type(inner) is dict and len(inner) <= _MOST_ENTRIES:
            for key, entry in list(inner.items()):
                if type(key) is str:
                    _collect(key, entry, found)
    return found


_MOST_ENTRIES = 1000
_LEAST_LENGTH = 6


def _collect(name: str, value: object, found: List[str]) -> None:
    if type(value) is not str or len(value) < _LEAST_LENGTH or value in found:
        return
    if name_secrecy(name) == STRONG and not is_path(value):
        found.append(value)


def redact_shapes(text: str) -> str:
    """``text`` without credentials of a known shape; names and randomness count for nothing here."""
    return _KNOWN_ANY.sub(lambda found: mark(_KNOWN[int((found.lastgroup or "k0")[1:])][0]), text)


def redact(text: str) -> Tuple[str, int]:
    """``text`` with everything that looks secret replaced by ``<redacted: kind>``, and how many were replaced."""
    redactor = Redactor()
    return redactor.text(text), redactor.count


def redact_value(name: str, text: str) -> Tuple[str, int]:
    """A plain value that stands under ``name`` (a variable, key or attribute), redacted as `redact` does."""
    redactor = Redactor()
    if redactor.withholds(name_secrecy(name), text):
        return redactor.withheld(kind_of_name(name)), 1
    return redactor.text(text), redactor.count
