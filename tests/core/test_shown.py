"""What `logs` shows of an agent's bytes: text and colours, and nothing to obey."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeroom.cli.shown import Shown

SGR = re.compile(r"\x1b\[[0-9;:]*m")
# With what a terminal is asked, or told, in many forms; cut anywhere by hypothesis.
PIECES = st.sampled_from(
    (
        *(b"\x1b", b"\x1b[", b"\x9b", b"\xc2\x9b", b"\x1b]", b"\x1bP", b"\x1b\\", b"\x07", b"?"),
        *(b">", b"c", b"q", b"m", b"31", b";", b":", b"6n", b"2J", b"\x18", b"\x1a", b"\r", b"\n"),
        *(b"\x1b[c", b"\x1b[6n", b"\x1b]11;?\x07", b"\x1bP+q544e\x1b\\", b"\x1bZ", b"$p", b"0"),
        *("é".encode(), "\u202e".encode(), b"\xff", b"\x0e", b"\x05", b"text", b"\x7f", b" "),
    )
)
SENT = st.lists(st.one_of(PIECES, st.binary(max_size=6)), max_size=40)


def shown(*sent: bytes, colours: bool = True) -> str:
    found = Shown(colours=colours)
    return "".join([*map(found.feed, sent), found.end()])


@given(SENT)
def test_no_sequence_survives_but_colours_whatever_was_sent(sent: list[bytes]) -> None:
    found = SGR.sub("", shown(*sent))
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", found)


@given(SENT)
def test_without_colours_no_escape_survives_and_the_text_is_the_same(sent: list[bytes]) -> None:
    found = shown(*sent, colours=False)
    assert "\x1b" not in found
    assert found == SGR.sub("", shown(*sent))


@given(SENT)
def test_it_is_the_same_in_pieces_and_whole(sent: list[bytes]) -> None:
    whole = b"".join(sent)
    assert shown(whole) == shown(*(bytes([one]) for one in whole))


@given(st.text(st.characters(exclude_categories=["Cc", "Cf", "Cs"]), min_size=1))
def test_text_stays_as_it_is(text: str) -> None:
    assert shown(f"{text}\n".encode(), colours=False) == f"{text}\n"


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (b"\x1b[>c\x1b[6n\x1b]10;?\x1b\\\x1bP$qm\x1b\\\x1b[?1049h\x1b[?25lhi\n", "hi\n"),
        (b"a\x1b[5Cb\r\nc\x1b[2;1Hd", "a     b\nc\nd\n"),
        (b"10%\r20%\r\ndone\r\n", "10%\n20%\ndone\n"),
        (b"\x1b[31mred", "\x1b[31mred\x1b[0m\n"),
        (b"\x1b[1mbold\x1b[0m\n", "\x1b[1mbold\x1b[0m\n"),
        (b"\x1b[>4;2mkeys\n", "keys\n"),
        (b"\x1b]0;title\x07\x1b]8;;http://x\x1b\\link\n", "link\n"),
        (b"\x1b(Bplain\x1b7\x1b8\n", "plain\n"),
        ("\u009b31mno\u009d0;t\u009cyes\n".encode(), "\x1b[31mnoyes\n\x1b[0m"),
    ],
)
def test_examples(sent: bytes, expected: str) -> None:
    assert shown(sent) == expected
