"""A secret shows a mask however it is printed; only asking for it gives it away."""

import copy
import json
import logging
import pickle
import traceback

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeroom.credential.secret import MASK, Credential, Secret

VALUE = "the-very-secret-value"


def credential(secret: str = VALUE) -> Credential:
    return Credential("api-key", Secret(secret), "a variable")


@pytest.mark.parametrize("thing", [Secret(VALUE), credential()])
def test_no_way_to_print_it_shows_it(thing: object) -> None:
    shown = [
        repr(thing),
        str(thing),
        f"{thing}",
        f"{thing!r}",
        f"{thing!s:>60}",
        "%s %r" % (thing, thing),  # noqa: UP031
        "{0} {0!r} {0!a}".format(thing),  # noqa: UP032
        ascii(thing),
        repr([thing]),
        repr({"key": thing}),
        str(ValueError(thing)),
        repr(ValueError(thing)),
    ]
    assert not [text for text in shown if VALUE in text]
    assert all(MASK in text for text in shown)


@pytest.mark.parametrize("spec", ["", ">20", "10", ".3"])
def test_no_format_shows_more_than_the_mask(spec: str) -> None:
    assert set(format(Secret(VALUE), spec)) <= {"*", " "}


@pytest.mark.parametrize("thing", [Secret(VALUE), credential()])
def test_it_is_not_serialized(thing: object) -> None:
    with pytest.raises(TypeError):
        pickle.dumps(thing)
    with pytest.raises(TypeError):
        json.dumps(thing)
    with pytest.raises(TypeError):
        msgspec.json.encode(thing)
    with pytest.raises(TypeError):
        copy.deepcopy(thing)


def test_a_credential_taken_apart_still_masks() -> None:
    assert VALUE not in repr(msgspec.structs.asdict(credential()))
    with pytest.raises(TypeError):
        msgspec.to_builtins(credential())


def test_neither_a_log_nor_a_traceback_shows_it(caplog: pytest.LogCaptureFixture) -> None:
    secret = Secret(VALUE)
    logging.getLogger("test").warning("it is %s or %r", secret, credential())
    assert VALUE not in caplog.text
    with pytest.raises(KeyError) as told:
        dict[Secret, int]()[secret]
    summary = traceback.TracebackException.from_exception(told.value, capture_locals=True)
    assert VALUE not in str(told.value)
    assert VALUE not in "".join(summary.format())


def test_it_has_no_other_attributes_to_look_into() -> None:
    assert not hasattr(Secret(VALUE), "__dict__")
    with pytest.raises(AttributeError):
        Secret(VALUE).other = 1  # type: ignore[attr-defined]


@given(value=st.text(st.characters(exclude_categories=()), max_size=40))
def test_asking_for_it_gives_exactly_what_was_put_in(value: str) -> None:
    assert Secret(value).reveal() == value
    assert Secret(value) == Secret(value)
    assert hash(Secret(value)) == hash(Secret(value))
    assert Secret(value) != value


@given(
    value=st.text(st.characters(exclude_categories=()), max_size=40),
    other=st.text(st.characters(exclude_categories=()), max_size=40),
)
def test_a_digest_is_eight_hex_digits_that_tell_secrets_apart(value: str, other: str) -> None:
    digest = Secret(value).digest()
    assert len(digest) == 8
    assert set(digest) <= set("0123456789abcdef")
    assert digest == Secret(value).digest()
    assert (digest == Secret(other).digest()) == (value == other)


def test_the_values_to_be_replaced_are_the_key_or_the_grants_tokens() -> None:
    assert credential().values() == (VALUE,)
    grant = {
        "accessToken": "access-1",
        "refreshToken": "refresh-1",
        "expiresAt": 4,
        "scopes": ["user:inference"],
        "subscriptionType": "max",
    }
    found = Credential("oauth", Secret(json.dumps(grant)), "a file").values()
    assert sorted(found) == ["access-1", "refresh-1"]
    grant["refreshToken"] = None
    assert Credential("oauth", Secret(json.dumps(grant)), "a file").values() == ("access-1",)
