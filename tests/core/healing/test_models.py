"""Names of models are resolved without a network, and wrong ones are told apart from new ones."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from healguard_core.healing import models
from healguard_core.healing.models import ALIASES, Model, ModelError, key_of, read_prices, resolve

from .crashes import model_at


@pytest.fixture(autouse=True)
def _without_litellm(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What an installed litellm knows differs from version to version."""
    monkeypatch.setitem(sys.modules, "litellm", None)
    models._litellm_table.cache_clear()
    yield
    models._litellm_table.cache_clear()


@pytest.mark.parametrize("alias", sorted(ALIASES))
def test_every_alias_has_a_provider_a_key_and_a_price(alias: str) -> None:
    model = resolve(alias)
    assert model.id == ALIASES[alias]
    assert model.base_url.startswith("https://")
    assert model.key_variable
    assert model.priced
    assert str(model) == f"{alias} = {model.id}"


def test_a_bare_name_with_one_owner() -> None:
    assert resolve("glm-5.2").id == "zai/glm-5.2"


@pytest.mark.parametrize(("name", "says"), [
    ("gtp", "did you mean gpt"),
    ("gpt-5.6-tera", "did you mean .*gpt-5.6-terra"),
    ("openai/gpt-5.6-tera", r"did you mean openai/gpt-5.6-terra.*declare it in heal_models"),
    ("opnai/x", "provider 'opnai' is unknown; did you mean 'openai'"),
    ("anthropic/claude", "Others need litellm"),
    ("", "there is no model"),
])
def test_wrong_names(name: str, says: str) -> None:
    with pytest.raises(ModelError, match=says):
        resolve(name)


def test_a_new_name_of_a_known_provider_has_no_price() -> None:
    model = resolve("openai/o99-colossal")
    assert (model.name, model.priced) == ("o99-colossal", False)
    assert model.cost(1, 0, 1) is None


def test_a_declared_model() -> None:
    line = "own = openai/qwen/7b base_url=http://localhost:8000/v1/ key=OWN_KEY input=0.5 output=2 cached=0.1"
    model = resolve("own", [line])
    assert model == Model("own", "openai/qwen/7b", "qwen/7b", "http://localhost:8000/v1", "OWN_KEY", "http",
                          0.5, 0.1, 2.0)
    assert model.cost(1_000_000, 500_000, 1_000_000) == pytest.approx(0.25 + 0.05 + 2)


@pytest.mark.parametrize(("name", "wire"), [
    ("gpt", "responses"), ("deepseek", "chat"), ("glm", "chat"), ("mistral/x", "chat"),
    ("own = openai/x base_url=http://a/v1", "responses"), ("own = openai/x base_url=http://a/v1 wire=chat", "chat"),
    ("own = mistral/x wire=responses", "responses"), ("own = local/x base_url=http://a/v1", "chat"),
])
def test_which_api_a_model_is_asked_by(name: str, wire: str) -> None:
    asked, declared = ("own", [name]) if "=" in name else (name, [])
    assert resolve(asked, declared).wire == wire


def test_a_declared_url_needs_no_key() -> None:
    model = resolve("own", ["own = openai/qwen base_url=http://localhost:8000/v1"])
    assert key_of(model, {}) == ""


def test_a_declared_alias_overrules_ours() -> None:
    assert resolve("gpt", ["gpt = deepseek/deepseek-v4-flash"]).id == "deepseek/deepseek-v4-flash"


def test_a_typo_can_be_declared() -> None:
    assert resolve("t", ["t = openai/gpt-5.6-tera"]).id == "openai/gpt-5.6-tera"


def test_the_base_url_of_a_provider_can_be_overruled() -> None:
    model = resolve("openai/anything", environ={"OPENAI_BASE_URL": "http://proxy.local/v1"})
    assert (model.base_url, model.key_variable) == ("http://proxy.local/v1", "OPENAI_API_KEY")


@pytest.mark.parametrize("line", [
    "own", "own =", "= openai/x", "own = x", "own = openai/x base_url", "own = openai/x url=http://a/v1",
    "own = openai/x input=free", "own = openai/x output=-1", "own = openai/x input=inf",
    "own = openai/x base_url=ftp://a", "own = openai/x wire=grpc",
    "own = somebody/x",
])
def test_wrong_declarations(line: str) -> None:
    with pytest.raises(ModelError, match=r"heal_models|base_url"):
        resolve("own", [line])


def test_a_missing_key() -> None:
    with pytest.raises(ModelError, match="OPENAI_API_KEY, which is not set"):
        key_of(resolve("gpt"), {"OPENAI_API_KEY": " "})
    assert key_of(resolve("gpt"), {"OPENAI_API_KEY": " k "}) == "k"


def test_prices_in_litellms_form() -> None:
    prices, bare = read_prices({
        "sample_spec": "not a row",
        "gpt-x": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 2e-06,
                  "cache_read_input_token_cost": 2e-07, "output_cost_per_token": 1.2e-05},
        "zai/glm-x": {"litellm_provider": "zai", "mode": "chat", "input_cost_per_token": "free"},
        "picture": {"litellm_provider": "openai", "mode": "image_generation"},
        "nobody": {"mode": "chat"},
    })
    assert prices == {"openai/gpt-x": (2.0, 0.2, 12.0), "zai/glm-x": (None, None, None)}
    assert bare == {"gpt-x": "openai/gpt-x"}


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(0, 10**9))
def test_cost_grows_with_tokens_and_is_never_negative(asked: int, cached: int, answered: int) -> None:
    model = model_at("http://localhost")
    cost = model.cost(asked, min(cached, asked), answered)
    more = model.cost(asked + 1, min(cached, asked), answered + 1)
    assert cost is not None
    assert more is not None
    assert 0 <= cost < more


@given(st.text(max_size=60))
@settings(deadline=None)
def test_any_name_is_resolved_or_refused(name: str) -> None:
    try:
        said = resolve(name).id
    except ModelError as error:
        said = str(error)
    assert said
    assert "/" in said
