"""Which model a name stands for: aliases, providers, keys and prices. Standard library only; no network.

Prices are US dollars per million tokens.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import json
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

AS_OF = "2026-11-29"
"""The day on which the tables below were true."""

ALIASES = {
    "gpt": "openai/gpt-5.6-terra",
    "deepseek": "deepseek/deepseek-v4-flash",
    "glm": "zai/glm-5.2",
}

Prices = tuple[float | None, float | None, float | None]

PRICES: dict[str, Prices] = {  # input, cached input, output
    "openai/gpt-5.6-terra": (2.0, None, 12.0),
    "openai/gpt-5.6-sol": (None, None, None),
    "openai/gpt-5.6-luna": (None, None, None),
    "deepseek/deepseek-v4-flash": (0.3, None, 1.2),
    "zai/glm-5.2": (1.4, None, 4.4),
}
"""Models that are known by name. Their providers may change prices; `heal_models` overrules them."""

PROVIDERS = {  # base URL of the OpenAI-compatible API, variable with the key
    "openai": ("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "deepseek": ("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    "zai": ("https://api.z.ai/api/paas/v4", "ZAI_API_KEY"),
    "openrouter": ("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "mistral": ("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "groq": ("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "together_ai": ("https://api.together.xyz/v1", "TOGETHERAI_API_KEY"),
}
"""Providers that are asked directly. Every other one needs litellm, or a ``base_url``."""

_WITH_RESPONSES = frozenset({"openai"})
"""Providers that have the Responses API; for the others its requests are translated."""

_WIRES = ("chat", "responses")
_WORDS = ("base_url", "key", "wire", "input", "output", "cached")
_TYPO = 0.85  # more alike than this to a known name, an unknown one is taken for a slip


class ModelError(ValueError):
    """A model cannot be used; the text says why and names the nearest choices."""


@dataclasses.dataclass(frozen=True)
class Model:
    """One model, resolved. ``key_variable`` is "" where no key is needed; prices are None where unknown."""

    asked: str
    id: str
    name: str
    base_url: str = ""
    key_variable: str = ""
    transport: str = "http"  # or "litellm"
    input_price: float | None = None
    cached_price: float | None = None
    output_price: float | None = None
    wire: str = "responses"  # or "chat", for a provider without the Responses API

    @property
    def priced(self) -> bool:
        return self.input_price is not None and self.output_price is not None

    def cost(self, input_tokens: int, cached_tokens: int, output_tokens: int) -> float | None:
        """In US dollars; None where a price is not known. Cached tokens without a price cost as others do."""
        if self.input_price is None or self.output_price is None:
            return None
        cached_price = self.input_price if self.cached_price is None else self.cached_price
        fresh = max(input_tokens - cached_tokens, 0)
        return (fresh * self.input_price + cached_tokens * cached_price + output_tokens * self.output_price) / 1e6

    def __str__(self) -> str:
        return self.id if self.asked == self.id else f"{self.asked} = {self.id}"


def resolve(asked: str, declared: Iterable[str] = (), environ: Mapping[str, str] | None = None) -> Model:
    """The model that ``asked`` names: a declared alias, one of `ALIASES`, ``provider/name`` or a known bare name.

    ``declared`` are lines ``ALIAS = PROVIDER/NAME [base_url=URL] [key=VARIABLE] [wire=chat|responses] [input=USD]
    [output=USD] [cached=USD]``. A provider's base URL may be overruled by the variable ``PROVIDER_BASE_URL``. Raises
    `ModelError`.
    """
    own = dict(map(_declaration, declared))
    if asked in own:
        model_id, words = own[asked]
        return _built(asked, model_id, words, environ or {})
    known = {**PRICES, **_litellm_table()[0]}
    model_id = ALIASES.get(asked, asked)
    if "/" not in model_id:
        model_id = _owned(asked, own, known)
    provider = model_id.partition("/")[0]
    if provider not in PROVIDERS and not _has_litellm():
        raise ModelError(
            f"model {asked!r}: provider {provider!r} {_near(provider, PROVIDERS)}(known: {', '.join(PROVIDERS)}). "
            "Others need litellm (pip install 'pytest-heal[litellm]'), or a base_url in heal_models")
    if model_id not in known and not _is_local(provider, environ or {}):
        close = difflib.get_close_matches(model_id, known, n=3, cutoff=_TYPO)
        if close or _has_litellm():
            raise ModelError(_unknown(asked, own, known) + f". If it is new, declare it in heal_models: x = {model_id}")
    return _built(asked, model_id, {}, environ or {})


def key_of(model: Model, environ: Mapping[str, str]) -> str:
    """The provider's key, "" where none is needed. Raises `ModelError` when it is missing."""
    if not model.key_variable:
        return ""
    key = environ.get(model.key_variable, "").strip()
    if not key:
        raise ModelError(
            f"model {model} needs its key in the environment variable {model.key_variable}, which is not set")
    return key


# --------------------------------------------------------------------------- parts


def _declaration(line: str) -> tuple[str, tuple[str, dict[str, str]]]:
    alias, equals, rest = (part.strip() for part in line.partition("="))
    words = rest.split()
    form = "ALIAS = PROVIDER/NAME " + " ".join(f"[{word}=...]" for word in _WORDS)
    if not equals or not alias or not words or "/" not in words[0]:
        raise ModelError(f"heal_models: {line!r} is not of the form {form}")
    settings: dict[str, str] = {}
    for word in words[1:]:
        name, equals, value = word.partition("=")
        if not equals or name not in _WORDS:
            raise ModelError(f"heal_models: {line!r}: {word!r} {_near(name, _WORDS)}(known: {', '.join(_WORDS)})")
        settings[name] = value
    return alias, (words[0], settings)


def _built(asked: str, model_id: str, words: Mapping[str, str], environ: Mapping[str, str]) -> Model:
    provider, _, name = model_id.partition("/")
    base_url, key_variable = PROVIDERS.get(provider, ("", provider.upper() + "_API_KEY"))
    base_url = environ.get(f"{provider.upper()}_BASE_URL", "") or base_url
    if "base_url" in words:
        base_url, key_variable = words["base_url"], ""
    if base_url and urlsplit(base_url).scheme not in ("http", "https"):
        raise ModelError(f"model {asked!r}: base_url {base_url!r} must begin with http:// or https://")
    if not base_url and not _has_litellm():
        raise ModelError(f"model {asked!r}: provider {provider!r} needs a base_url, or litellm installed")
    found = {**PRICES, **_litellm_table()[0]}.get(model_id, (None, None, None))
    return Model(
        asked=asked,
        id=model_id,
        name=name,
        base_url=base_url.rstrip("/"),
        key_variable=words.get("key", key_variable),
        transport="http" if base_url else "litellm",
        wire=_wire(asked, words, provider, base_url),
        input_price=_price(asked, words, "input", found[0]),
        cached_price=_price(asked, words, "cached", found[1]),
        output_price=_price(asked, words, "output", found[2]),
    )


def _wire(asked: str, words: Mapping[str, str], provider: str, base_url: str) -> str:
    said = words.get("wire")
    if said is None:
        return "responses" if provider in _WITH_RESPONSES and base_url else "chat"
    if said not in _WIRES:
        raise ModelError(f"heal_models: {asked}: wire={said!r} must be one of {', '.join(_WIRES)}")
    if said == "responses" and not base_url:
        raise ModelError(f"heal_models: {asked}: wire=responses needs a base_url; litellm is asked by Chat Completions")
    return said


def _price(asked: str, words: Mapping[str, str], name: str, otherwise: float | None) -> float | None:
    if name not in words:
        return otherwise
    try:
        price = float(words[name])
    except ValueError:
        price = -1.0
    if not 0 <= price < float("inf"):
        raise ModelError(f"heal_models: {asked}: {name}={words[name]!r} must be US dollars per million tokens")
    return price


def _owned(asked: str, own: Iterable[str], known: Mapping[str, Prices]) -> str:
    """The full name of the model with the bare name ``asked``."""
    owners = [name for name in known if name.partition("/")[2] == asked]
    first = [name for name in owners if name in PRICES] or [_litellm_table()[1].get(asked, "")]
    if first[0]:
        return first[0]
    if not owners:
        raise ModelError(_unknown(asked, own, known))
    if len(owners) > 1:
        raise ModelError(f"model {asked!r} is served by several providers; name one: {', '.join(sorted(owners)[:8])}")
    return owners[0]


def _is_local(provider: str, environ: Mapping[str, str]) -> bool:
    """Whether the provider's API is somewhere else than usual, where other names may be served."""
    return bool(environ.get(f"{provider.upper()}_BASE_URL"))


def _unknown(asked: str, own: Iterable[str], known: Iterable[str]) -> str:
    names = [*own, *ALIASES, *known, *(name.partition("/")[2] for name in known)]
    close = difflib.get_close_matches(asked, dict.fromkeys(names), n=3, cutoff=0.5)
    nearest = f"; did you mean {' or '.join(close)}?" if close else ""
    return f"there is no model {asked!r}{nearest} (aliases: {', '.join([*own, *ALIASES])}; or PROVIDER/NAME)"


def _near(name: str, choices: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(choices), n=1)
    return f"is unknown; did you mean {close[0]!r}? " if close else "is unknown "


def _has_litellm() -> bool:
    return find_spec("litellm") is not None


@functools.cache
def _litellm_table() -> tuple[dict[str, Prices], dict[str, str]]:
    """Prices by full name, and full names by bare name, as far as an installed litellm knows them.

    They are read from its file: importing it takes seconds.
    """
    spec = find_spec("litellm")
    if spec is None or not spec.submodule_search_locations:
        return {}, {}
    path = Path(next(iter(spec.submodule_search_locations)), "model_prices_and_context_window_backup.json")
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}, {}  # another layout: names cannot be checked, and prices are unknown
    return read_prices(table)


def read_prices(table: Mapping[str, object]) -> tuple[dict[str, Prices], dict[str, str]]:
    """Prices by full name, and full names by bare name, in a table of litellm's form."""
    prices: dict[str, Prices] = {}
    bare: dict[str, str] = {}
    for name, row in table.items():
        provider = row.get("litellm_provider") if isinstance(row, dict) else None
        if not isinstance(row, dict) or not provider or row.get("mode") not in ("chat", "responses"):
            continue
        full = name if name.startswith(f"{provider}/") else f"{provider}/{name}"
        if "/" not in name:
            bare[name] = full
        costs = ("input_cost_per_token", "cache_read_input_token_cost", "output_cost_per_token")
        prices[full] = tuple(_per_million(row.get(cost)) for cost in costs)  # type: ignore[assignment]
    return prices, bare


def _per_million(price: object) -> float | None:
    return round(price * 1_000_000, 6) if isinstance(price, (int, float)) else None
