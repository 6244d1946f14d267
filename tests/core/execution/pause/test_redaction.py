"""What leaves the process: secrets are withheld, ordinary values are not."""

import base64
import hashlib
import random
import string
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healguard_core.execution.pause.redaction import (
    OPEN,
    STRONG,
    WEAK,
    Redactor,
    looks_random,
    name_secrecy,
    redact,
    redact_value,
)

# Spelled in pieces, so that scanners of this repository do not take them for real ones.
KNOWN = {
    "aws": "AKIA" + "IOSFODNN7EXAMPLE",
    "github": "ghp_" + "a1B2" * 9,
    "github fine-grained": "github_pat_" + "11ABCDEFG0" * 3,
    "gitlab": "glpat-" + "x1y2z3A4B5C6D7E8F9G0",
    "slack": "xoxb-" + "123456789012-abcdefABCDEF",
    "slack webhook": "https://hooks.slack.com/" + "services/T000/B000/XXXXXXXX",
    "openai": "sk-" + "proj-" + "abcDEF123456abcDEF",
    "openai old": "sk-" + "a1" * 20,
    "anthropic": "sk-" + "ant-api03-" + "x9" * 20,
    "stripe": "sk_" + "live_" + "4eC39HqLyjWDarjtT1zdp7dc",
    "google": "AIza" + "SyA1234567890abcdefghijklmnopqrstuv",
    "hugging face": "hf_" + "abcdefGHIJKLmnopqrst",
    "package index": "pypi-" + "AgEIcHlwaS5vcmcCJDAwMDAwMDAw",
    "jwt": "eyJ" + "hbGciOiJIUzI1NiJ9." + "eyJ" + "zdWIiOiIxIn0." + "dBjftJeZ4CVPmB92K27uhbUJU1p1r_wW1gFWFOEjXk",
    "telegram": "123456789:" + "AAF" + "a1B2c3D4" * 4,
    "pem": "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7\nabc=\n-----END RSA PRIVATE KEY-----",
    "pem cut": "-----BEGIN OPENSSH " + "PRIVATE KEY-----\nb3BlbnNzaC1rZXk",
}
ORDINARY = [
    "/usr/lib/python3.11/site-packages/SomePackage/_internal/Module2.py",
    r"C:\Users\Alice01\AppData\Local\Programs\Python311\python.exe",
    str(uuid.UUID(int=0x12345678123456781234567812345678)),
    hashlib.sha1(b"x").hexdigest(),
    hashlib.sha256(b"x").hexdigest(),
    "sha256-" + base64.b64encode(hashlib.sha256(b"x").digest()).decode(),
    "sha512:" + base64.b64encode(hashlib.sha512(b"y").digest()).decode(),
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4",
    base64.b64encode(bytes(range(256)) * 2).decode(),
    "healguard_core.execution.pause.redaction",
    "AbstractSingletonProxyFactoryBean2",
    "HTTPServerV2RequestIDHandlerX509",
    "test_parametrized_case[2023Q4-Alpha_1-True]",
    "2023-11-14T09:30:00.000000+00:00",
    "20231114T093000Z_20231115T093000Z",
    "https://example.com/a/b?page=2&sort=Name#Section3",
    "user@example.com",
    "4111111111111112",  # fails the check digit
    "1700000000000000000",  # nanoseconds
    "0.4111111111111111",
    "the password is wrong, and the token expired",
    "KeyError: 'session'",
    "def login(user, password=None, token: str = None): ...",
    "requests.get(url, token=token, password=cfg.password)",
    "for token in tokens: parse(token)",
    "x == y and secret == other",
    "version 1.2.3.4, build 20240101",
    "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]",
]
RANDOM_ALPHABET = string.ascii_letters + string.digits


@pytest.mark.parametrize("secret", KNOWN.values(), ids=KNOWN)
def test_known_credentials_are_withheld_wherever_they_stand(secret):
    for text in (secret, f"failed for {secret}: retry", f"{{'a': '{secret}'}}"):
        cleared, count = redact(text)
        assert count == 1
        assert secret not in cleared
        assert secret[12:].split("\n")[0] not in cleared
        assert "<redacted: " in cleared


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_values_stay(text):
    assert redact(text) == (text, 0)


@pytest.mark.parametrize(
    ("text", "cleared"),
    [
        ("password=hunter2 next", "password=<redacted: password> next"),
        ("DB_PASSWORD: hunter", "DB_PASSWORD: <redacted: db password>"),
        ('{"apiKey": "abc", "page": 2}', '{"apiKey": "<redacted: api key>", "page": 2}'),
        ("{'user': 'bob', 'passwd': 'x'}", "{'user': 'bob', 'passwd': '<redacted: passwd>'}"),
        ("postgres://bob:pw@host/db", "postgres://bob:<redacted: password>@host/db"),
        ("Authorization: Bearer abc1234567", "Authorization: Bearer <redacted: authorization>"),
        ("{'Authorization': 'Basic dXNlcjpwYXNz'}", "{'Authorization': 'Basic <redacted: authorization>'}"),
        ("Cookie: sid=abc; theme=dark", "Cookie: <redacted: cookie>"),
        ("Set-Cookie: sid=abc123; Path=/", "Set-Cookie: <redacted: cookie>"),
        ("card 4111 1111 1111 1111.", "card <redacted: card number>."),
        ("card 4111-1111-1111-1111", "card <redacted: card number>"),
        ("amex 378282246310005", "amex <redacted: card number>"),
        ('secret = """two\nlines"""', 'secret = """<redacted: secret>"""'),
        ("client_secret=rb'abc'", "client_secret=rb'<redacted: client secret>'"),
    ],
)
def test_secrets_are_replaced_and_the_rest_is_kept(text, cleared):
    assert redact(text) == (cleared, 1)


@pytest.mark.parametrize(
    ("name", "secrecy"),
    [
        ("password", STRONG), ("db_password", STRONG), ("DBPassword", STRONG), ("userpassword", STRONG),
        ("PASSWD", STRONG), ("secret", STRONG), ("client_secret", STRONG), ("SECRET_KEY", STRONG),
        ("api_key", STRONG), ("apiKey", STRONG), ("X-Api-Key", STRONG), ("APIKEY", STRONG), ("private_key", STRONG),
        ("Authorization", STRONG), ("access_token", STRONG), ("sessionId", STRONG), ("session_key", STRONG),
        ("AWS_SECRET_ACCESS_KEY", STRONG), ("credentials", STRONG), ("self._password", STRONG),
        ("token", WEAK), ("session", WEAK), ("cookie", WEAK), ("next_token", WEAK),
        ("key", OPEN), ("keys", OPEN), ("secretary", OPEN), ("tokenize", OPEN), ("author", OPEN), ("passenger", OPEN),
        ("password_length", OPEN), ("token_type", OPEN), ("session_timeout", OPEN), ("PasswordField", OPEN),
        ("Token.Comment", OPEN), ("compass", OPEN), ("", OPEN), ("x", OPEN),
    ],
)
def test_names_are_judged_by_whole_words(name, secrecy):
    assert name_secrecy(name) == secrecy


@pytest.mark.parametrize(
    ("name", "value", "withheld"),
    [
        ("password", "xyz", True), ("password", "", False), ("token", "identifier", False), ("token", "+", False),
        ("token", "tok_12345", True), ("token", "a" * 20, True), ("session", "abc", False),
        ("SSH_KEY_SECRET", "/run/secrets/ssh/id", False), ("page", "hunter2", False),
    ],
)
def test_values_are_judged_by_the_name_they_stand_under(name, value, withheld):
    cleared, count = redact_value(name, value)
    assert count == withheld
    assert (value not in cleared) if withheld else cleared == value


def test_program_text_keeps_its_expressions():
    redactor = Redactor()
    source = "password = get_password(user)\nself.token = token\nkey = SECRET\nif password == other: pass\n"
    assert redactor.source(source) == source
    assert redactor.source('password = "hunter2"') == 'password = "<redacted: password>"'
    assert redactor.count == 1


def test_switched_off_it_hands_everything_through():
    redactor = Redactor(on=False)
    text = "password=hunter2 " + KNOWN["jwt"]
    assert redactor.text(text) == redactor.source(text) == text
    assert redactor.count == 0
    assert not redactor.withholds(STRONG, "hunter2")


@pytest.mark.parametrize("size", [20, 24, 32, 40, 64])
def test_generated_keys_are_told_from_words(size):
    generator = random.Random(7)
    keys = ["".join(generator.choice(RANDOM_ALPHABET) for _ in range(size)) for _ in range(400)]
    assert sum(map(looks_random, keys)) >= 0.92 * len(keys)


@given(st.text(max_size=400))
def test_any_text_is_taken_and_clearing_twice_changes_nothing(text):
    cleared, _ = redact(text)
    assert redact(cleared) == (cleared, 0)


FRAGMENTS = st.sampled_from(
    ["password", "=", ": ", "'", '"', "token", "abc123def", "Bearer ", "Authorization", "<redacted: password>", "\n",
     "://", "bob:", "@", "cookie", "4111111111111111", " ", "{", "}", "sk-", "a1B2c3D4e5F6g7H8i9J0"]
)


@given(st.lists(FRAGMENTS, max_size=12).map("".join))
def test_clearing_twice_changes_nothing_for_text_full_of_secrets(text):
    cleared, _ = redact(text)
    assert redact(cleared) == (cleared, 0)


@given(st.text(string.ascii_letters + " .,", max_size=60), st.sampled_from(sorted(KNOWN)))
def test_no_surrounding_text_lets_a_credential_through(around, kind):
    cleared, count = redact(around + " " + KNOWN[kind] + "\n" + around)
    assert KNOWN[kind] not in cleared
    assert count >= 1
