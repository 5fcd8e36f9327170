"""What a program sent to its terminal, as text that leaves another terminal as it is."""

import codecs
import re
from typing import Literal

# Everything that a terminal may obey: C0, DEL, C1, and what turns the direction of text.
_ORDER = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
# Select graphic rendition: colours and the like (ECMA-48, 8.3.117), by digits alone.
_COLOUR = re.compile(r"[0-9;:]*")
_LONGEST = 64
_WIDEST = 200
_RESET = "\x1b[0m"
# Controls of one character that say what ESC and a letter say (ECMA-48, 5.3).
_SINGLE = {chr(ord(letter) + 0x40): letter for letter in "[]PX^_DEM"}
_State = Literal["text", "escape", "intermediate", "sequence", "string"]


class Shown:
    """Takes what was sent piece by piece, and gives what of it can be shown.

    Text stays, and colours where they are wanted. Where the cursor was moved to another line,
    a line begins; where it was moved to the right, there are spaces. All else goes: titles,
    modes, other screens, and questions, whose answers the terminal would type.

    Args:
        colours: Whether colours stay.
    """

    def __init__(self, *, colours: bool) -> None:
        self._colours = colours
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._state: _State = "text"
        self._sequence = ""
        self._out: list[str] = []
        self._is_line_begun = False
        self._is_coloured = False
        # Whether the cursor was sent back: what comes next is over this line, or the next one.
        self._is_returned = False

    def feed(self, sent: bytes) -> str:
        """Take the next piece, which may end anywhere; give what can be shown by now."""
        return self._take(self._decoder.decode(sent))

    def end(self) -> str:
        """Give the rest, with which the terminal is as it was."""
        rest = self._take(self._decoder.decode(b"", final=True))
        if self._is_coloured:
            rest += _RESET
        return rest + ("\n" if self._is_line_begun else "")

    def _take(self, text: str) -> str:
        at = 0
        while at < len(text):
            if self._state == "text":
                order = _ORDER.search(text, at)
                end = order.start() if order else len(text)
                self._print(text[at:end])
                at = end
                if order:
                    self._obey(order[0])
                    at += 1
            else:
                at += self._step(text[at])
        shown = "".join(self._out)
        self._out.clear()
        return shown

    def _print(self, text: str) -> None:
        if self._is_returned and text:
            self._break()
        self._out.append(text)
        self._is_line_begun = self._is_line_begun or bool(text.strip())

    def _break(self) -> None:
        if self._is_line_begun:
            self._obey("\n")

    def _obey(self, order: str) -> None:
        if order == "\x1b":
            self._state = "escape"
        elif order in _SINGLE:
            self._escape(_SINGLE[order])
        elif order == "\n":
            self._out.append("\n")
            self._is_line_begun = self._is_returned = False
        elif order == "\t":
            self._out.append("\t")
        elif order == "\r":
            self._is_returned = self._is_line_begun
        elif order in "\v\f":
            self._break()
        elif order > "\x9f":
            self._print("\ufffd")

    def _step(self, letter: str) -> int:
        """Take one character of a sequence; tell how many of them that used up."""
        if letter in "\x18\x1a":
            self._state = "text"
        elif letter == "\x1b":
            self._state = "escape"
        elif self._state == "string":
            # Its end; BEL is what xterm takes for one as well.
            self._state = "text" if letter in "\x07\x9c" else "string"
        elif letter > "\x7f":
            self._state = "text"
            return 0
        elif letter >= " " and letter != "\x7f":
            # Other controls are obeyed in the midst of a sequence; nothing of worth is lost.
            self._add(letter)
        return 1

    def _add(self, letter: str) -> None:
        """Take one more character of what ESC began."""
        if self._state == "escape":
            self._escape(letter)
        elif self._state == "intermediate":
            self._state = "text" if letter >= "0" else "intermediate"
        elif letter >= "@":
            self._state = "text"
            self._control(letter)
        else:
            self._sequence = f"{self._sequence}{letter}"[: _LONGEST + 1]

    def _escape(self, letter: str) -> None:
        """Take what stands after ESC."""
        self._state = "text"
        if letter == "[":
            self._state, self._sequence = "sequence", ""
        elif letter in "]PX^_":
            self._state = "string"
        elif letter < "0":
            self._state = "intermediate"
        elif letter in "DEM":
            self._break()

    def _control(self, final: str) -> None:
        """Take a whole control sequence."""
        if len(self._sequence) > _LONGEST or not _COLOUR.fullmatch(self._sequence):
            return
        if final == "m":
            if self._colours:
                self._out.append(f"\x1b[{self._sequence}m")
                self._is_coloured = self._sequence.strip("0;:") != ""
        elif final in "ABEFHdf":
            self._break()
        elif final == "C":
            count = self._sequence.partition(";")[0]
            self._out.append(" " * min(int(count) if count.isdecimal() else 1, _WIDEST))
        elif final in "G`":
            self._out.append(" ")
