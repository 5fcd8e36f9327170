"""What an install shows while it works, always on stderr: bars on a terminal, else lines."""

import contextlib
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol, TextIO

from homeroom.toolchain.fetch import TEMPORARY
from homeroom.toolchain.pins import Pins
from homeroom.toolchain.store import NODE, PACKAGES

_MEGABYTE = 1_000_000
# Long enough not to fill a log, short enough to show that something goes on.
_LINE_EVERY = 10.0


class Reporter(Protocol):
    """Where an install tells what it does; nothing here may fail because of a terminal."""

    def note(self, message: str) -> None:
        """Show one sentence."""

    def show(self, pins: Pins, done: Mapping[str, int]) -> None:
        """Show how many bytes of each tool are unpacked."""


def totals(pins: Pins) -> dict[str, tuple[str, int]]:
    """Give each tool's label and its unpacked size in bytes, in the order of the pins."""
    found = {NODE: (f"{NODE} {pins.node.version}", pins.wheel.unpacked)}
    for name, pin in pins.tools.items():
        found[name] = (f"{name} {pin.version}", pin.build.unpacked)
    return found


def measure(stage: Path, pins: Pins) -> dict[str, int]:
    """Look how many bytes of each tool have been unpacked so far.

    Args:
        stage: The toolchain in the making.
        pins: What is being installed.

    Returns:
        Bytes by tool, never more than its pinned size.
    """
    # pip downloads and unpacks in its temporary directory first.
    done = {NODE: tree_size(stage / NODE) + tree_size(stage / TEMPORARY)}
    for name, pin in pins.tools.items():
        done[name] = tree_size(stage / PACKAGES / pin.build.package)
    return {name: min(done[name], total) for name, (_, total) in totals(pins).items()}


def tree_size(directory: Path) -> int:
    """Add up the sizes of the files in a tree that may be changing, in bytes."""
    total = 0
    for parent, _, names in os.walk(directory):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(parent, name)).st_size
    return total


def amount(done: int, total: int) -> str:
    """Write a share of a size: ``120 of 384 MB``, or ``384 MB`` when it is complete."""
    whole = f"{total / _MEGABYTE:.0f} MB" if total >= _MEGABYTE else f"{total / 1000:.0f} kB"
    return whole if done >= total else f"{done / _MEGABYTE:.0f} of {whole}"


class Lines:
    """A line when a tool is complete, and now and then one for the whole."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._complete: set[str] = set()
        self._last = time.monotonic()

    def note(self, message: str) -> None:
        """Show one sentence."""
        with contextlib.suppress(OSError):
            print(f"homeroom: {message}", file=self._stream, flush=True)

    def show(self, pins: Pins, done: Mapping[str, int]) -> None:
        """Show what has become complete since the last time."""
        sizes = totals(pins)
        for name, (label, total) in sizes.items():
            if name not in self._complete and done[name] >= total:
                self._complete.add(name)
                self.note(f"{label}  {amount(total, total)}")
        if time.monotonic() - self._last > _LINE_EVERY:
            self._last = time.monotonic()
            whole = sum(total for _, total in sizes.values())
            self.note(f"unpacked {amount(sum(done.values()), whole)}")


class Bars:
    """A bar for each tool."""

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[size]}"))
        # No refresh thread: a fork beside a running thread may inherit its locks.
        self._progress = Progress(*columns, console=Console(file=stream), auto_refresh=False)
        self._tasks: dict[str, int] = {}

    def note(self, message: str) -> None:
        """Show one sentence above the bars."""
        self._progress.console.print(f"homeroom: {message}", highlight=False, markup=False)

    def show(self, pins: Pins, done: Mapping[str, int]) -> None:
        """Move the bars."""
        from rich.progress import TaskID

        for name, (label, total) in totals(pins).items():
            if name not in self._tasks:
                self._progress.start()
                self._tasks[name] = self._progress.add_task(label, total=total, size="")
            size = amount(done[name], total)
            self._progress.update(TaskID(self._tasks[name]), completed=done[name], size=size)
        self._progress.refresh()

    def close(self) -> None:
        """Leave the terminal as it was."""
        self._progress.stop()


@contextlib.contextmanager
def reporter(stream: TextIO) -> Iterator[Reporter]:
    """Give the reporter that fits a stream, and leave the terminal clean afterwards."""
    if not stream.isatty():
        yield Lines(stream)
        return
    bars = Bars(stream)
    try:
        yield bars
    finally:
        bars.close()
