"""Secrets in what is kept: gone by value and by shape, and nothing else with them."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeroom.redact import MASK, redact

# In parts, so that no scanner takes this file for a leak.
SHAPES = [
    "sk-ant-" + "api03-" + "a1B2_c3-" * 4,
    "sk-ant-" + "oat01-" + "Z" * 40,
    "sk-" + "proj-" + "x" * 24,
    "sk-" + "y" * 48,
    "gh" + "p_" + "A1b2" * 9,
    "gh" + "s_" + "A1b2" * 9,
    "github" + "_pat_" + "A1b2_" * 8,
    "AK" + "IA" + "ABCD1234EFGH5678",
    "AS" + "IA" + "ABCD1234EFGH5678",
    "xo" + "xb-" + "1234567890-abc",
    "AI" + "za" + "b" * 35,
    "ey" + "J" + "hbGciOiJIUzI1" + ".ey" + "J" + "zdWIiOiIxMjM0" + ".c2lnbmF0dXJl",
    "-----BEGIN " + "RSA PRIVATE KEY-----\nline\nline\n-----END RSA PRIVATE KEY-----",
]
# Without the mask's own characters: a value made of those would be found in the mask.
plain = st.characters(exclude_characters=MASK)


@given(
    value=st.text(plain, min_size=8, max_size=30),
    before=st.text(max_size=20),
    after=st.text(max_size=20),
)
def test_no_known_value_survives_as_it_is_or_in_json(value: str, before: str, after: str) -> None:
    text = before + value + after
    forms = [
        text.encode(errors="surrogatepass"),
        json.dumps(text).encode(),
        json.dumps({"a": [text]}, ensure_ascii=False).encode(errors="surrogatepass"),
    ]
    spelled = [
        value.encode(errors="surrogatepass"),
        json.dumps(value)[1:-1].encode(),
        json.dumps(value, ensure_ascii=False)[1:-1].encode(errors="surrogatepass"),
    ]
    for content in forms:
        result = redact(content, [value])
        assert MASK.encode() in result
        assert not [form for form in spelled if form in result]


@given(
    values=st.lists(st.text("abcXYZ012", min_size=8, max_size=12), max_size=4),
    text=st.text("abcXYZ012", max_size=60),
)
def test_no_value_hides_behind_another(values: list[str], text: str) -> None:
    result = redact("".join([text, *values, text, *reversed(values)]).encode(), values)
    assert not [value for value in values if value.encode() in result]


def test_a_value_that_holds_another_is_replaced_whole() -> None:
    assert redact(b"<longer-secret>", ["longer-s", "longer-secret"]) == b"<[redacted]>"


def test_what_is_too_short_to_be_a_secret_is_no_value() -> None:
    assert redact(b"a hash or two", ["hash", "", "or two"]) == b"a hash or two"


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape[:8])
def test_a_secret_of_a_known_shape_is_replaced(shape: str) -> None:
    text = f'{{"a": "{shape}"}} and {shape}.\n'
    assert shape not in redact(text.encode()).decode()
    assert redact(text.encode()).decode() == f'{{"a": "{MASK}"}} and {MASK}.\n'


@pytest.mark.parametrize(
    "text",
    [
        "the task-force asked for skills",
        "sk-short",
        "run_0123456789abcdef0123456789abcdef",
        "commit 1f0c4a9e8d7b6a5c4d3e2f1a0b9c8d7e6f5a4b3c",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "ghp_short AKIA1234",
    ],
)
def test_what_only_looks_a_little_like_a_secret_stays(text: str) -> None:
    assert redact(text.encode()) == text.encode()


@given(content=st.binary(max_size=200))
def test_any_bytes_come_through(content: bytes) -> None:
    assert redact(content) == content or MASK.encode() in redact(content)
    assert redact(redact(content)) == redact(content)


@pytest.mark.parametrize(
    "piece",
    [
        b"-----BEGIN " + b"PRIVATE KEY-----",
        b"-----BEGIN " + b"PRIVATE KEY-----" + b"-----END " * 3,
        b"eyJ",
        b"eyJ0123456789.",
        b"a",
        b"a.",
    ],
)
def test_what_an_agent_wrote_to_keep_it_busy_takes_no_long_time(piece: bytes) -> None:
    began = time.process_time()
    redact(piece * 100_000)
    # Each start looked at the whole rest before: half a megabyte took a minute and more.
    assert time.process_time() - began < 5


def test_a_token_is_found_wherever_it_begins_in_a_word() -> None:
    token = SHAPES[-2]
    assert redact(f"\\n{token}.x".encode()) == f"\\n{MASK}.x".encode()
    assert redact(f"a.eyJ0123456789.{token}".encode()).count(MASK.encode()) == 1
