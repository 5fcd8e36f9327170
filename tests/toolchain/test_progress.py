"""What an install shows: sizes, on a terminal and in a log."""

import io
from pathlib import Path

import pytest

from homeroom.toolchain import progress
from homeroom.toolchain.pins import Pins, load
from homeroom.toolchain.progress import Lines, amount, measure, reporter, totals, tree_size


@pytest.fixture(scope="module")
def pins() -> Pins:
    return load()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("done", "total", "expected"),
    [
        (120_000_000, 384_000_000, "120 of 384 MB"),
        (384_000_000, 384_000_000, "384 MB"),
        (0, 384_000_000, "0 of 384 MB"),
        (5_000, 5_000, "5 kB"),
    ],
)
def test_amounts_are_read_as_sizes(done: int, total: int, expected: str) -> None:
    assert amount(done, total) == expected


def test_lines_tell_each_tool_once(pins: Pins, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    with reporter(stream) as told:
        nothing = dict.fromkeys(totals(pins), 0)
        told.show(pins, nothing)
        assert stream.getvalue() == ""
        complete = nothing | {"node": pins.wheel.unpacked}
        told.show(pins, complete)
        told.show(pins, complete)
        assert stream.getvalue().splitlines() == [
            f"homeroom: node {pins.node.version}  {pins.wheel.unpacked / 1e6:.0f} MB"
        ]
        monkeypatch.setattr(progress, "_LINE_EVERY", -1.0)
        told.show(pins, complete)
    assert "unpacked" in stream.getvalue().splitlines()[-1]


def test_bars_show_every_tool_on_a_terminal(pins: Pins) -> None:
    stream = Terminal()
    with reporter(stream) as told:
        told.note("another setup is running [bold]really[/bold]")
        told.show(pins, {name: total // 2 for name, (_, total) in totals(pins).items()})
    shown = stream.getvalue()
    assert "[bold]really[/bold]" in shown
    for label, total in totals(pins).values():
        assert label in shown
        assert amount(total // 2, total) in shown
    assert shown.rstrip().endswith("\x1b[?25h"), "the cursor is shown again"


def test_a_stderr_that_is_gone_is_no_reason_to_fail(pins: Pins) -> None:
    class Gone(io.StringIO):
        def write(self, _text: str) -> int:
            raise BrokenPipeError

    Lines(Gone()).show(pins, {name: total for name, (_, total) in totals(pins).items()})


def test_a_tree_is_measured_while_it_changes(pins: Pins, tmp_path: Path) -> None:
    assert tree_size(tmp_path / "not yet") == 0
    program = tmp_path / "node_modules" / "@vscode" / f"ripgrep-{pins.platform}" / "bin" / "rg"
    program.parent.mkdir(parents=True)
    program.write_bytes(b"x" * 1000)
    (program.parent / "dangling").symlink_to("nowhere")
    found = measure(tmp_path, pins)
    assert found["node"] == 0
    assert 1000 <= found["ripgrep"] < 1100
    program.write_bytes(b"x" * 10_000_000)
    assert measure(tmp_path, pins)["ripgrep"] == pins.tools["ripgrep"].build.unpacked
