"""Runs of the real agent against a model server: what it was asked, and what it left."""

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil

from tests.support.model_server import ModelServer

# A directory's own; everything else in the places of live runs is a leftover.
_STAY = {"CACHEDIR.TAG", "trash"}
_FINAL = {"ended", "failed", "crashed"}
_PATIENCE = 5.0


class Journal:
    """What a model server was asked since this object was made.

    Args:
        server: It may be shared by the tests of a process, which run one after another.
    """

    def __init__(self, server: ModelServer) -> None:
        self.server = server
        self._before = len(server.journal())

    @property
    def url(self) -> str:
        return self.server.url

    def requests(self) -> list[dict[str, Any]]:
        """List the requests, oldest first, in the shape of chat completions."""
        return self.server.journal()[self._before :]

    def messages(self, role: str) -> list[str]:
        """List the texts that the last request holds for a role, oldest first."""
        requests = self.requests()
        assert requests, "the model server was asked nothing"
        messages = requests[-1]["body"]["messages"]
        return [_text(entry["content"]) for entry in messages if entry["role"] == role]

    def result(self) -> str:
        """Return the result of the tool call that the agent made."""
        results = self.messages("tool")
        assert len(results) == 1, f"not one tool result but {results}"
        return results[0]


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""


def leftovers(root: Path) -> list[str]:
    """List everything in a HOMEROOM_HOME that a finished run should not have left."""
    state = root / "state"
    found = [
        str(path)
        for place in (state / "instances", root / "tmp")
        for path in _entries(place)
        if path.name not in _STAY
    ]
    found += [
        str(path) for place in (state / "trash", root / "tmp" / "trash") for path in _entries(place)
    ]
    for path in _entries(state / "runs"):
        if path.suffix != ".json":
            found.append(str(path))
        elif (run_state := json.loads(path.read_bytes())["state"]) not in _FINAL:
            found.append(f"{path} is {run_state}")
    return found


def _entries(directory: Path) -> list[Path]:
    return sorted(directory.iterdir()) if directory.is_dir() else []


def records(root: Path) -> list[dict[str, Any]]:
    """Read the records of all runs, oldest first."""
    paths = sorted((root / "state" / "runs").glob("*.json"), key=lambda path: path.stat().st_mtime)
    return [json.loads(path.read_bytes()) for path in paths]


def processes(root: Path) -> list[psutil.Process]:
    """List the living processes, this one excepted, that a path marks as a run's.

    Args:
        root: The HOMEROOM_HOME: everything that a sandbox holds has it in its environment
            or its command line.
    """
    found = []
    for process in psutil.process_iter():
        try:
            words = [*process.environ().values(), *process.cmdline()]
            zombie = process.status() == psutil.STATUS_ZOMBIE
        except (psutil.Error, OSError):
            continue
        if process.pid != os.getpid() and not zombie and any(str(root) in word for word in words):
            found.append(process)
    return found


def the_one(root: Path, *words: str, at: int = 0) -> psutil.Process:
    """Find the process that runs a program.

    A child that it is just starting looks the same, until that has become another program.

    Args:
        root: The HOMEROOM_HOME.
        words: A part of its command line.
        at: Where that part begins.
    """
    part = slice(at, at + len(words))
    same = {one.pid: one for one in processes(root) if command_line(one)[part] == [*words]}
    found = [one for one in same.values() if _parent(one) not in same]
    assert len(found) == 1, f"not one {words} but {found}"
    return found[0]


def _parent(process: psutil.Process) -> int:
    try:
        return process.ppid()
    except psutil.NoSuchProcess:
        # A child that has ended already, then.
        return process.pid


def is_gone(process: psutil.Process) -> bool:
    """Tell whether a process has ended; whoever has to may not have waited for it yet."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def assert_nothing_left(root: Path) -> None:
    """Fail when a finished run has left a file where rooms are, or a process."""
    assert leftovers(root) == []
    deadline = time.monotonic() + _PATIENCE
    while left := processes(root):
        if time.monotonic() > deadline:
            raise AssertionError(f"left running: {[(one.pid, command_line(one)) for one in left]}")
        time.sleep(0.02)


def command_line(process: psutil.Process) -> list[str]:
    """Read a command line; a process that has just ended, as a proxy's child does, has none."""
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def environment(process: psutil.Process) -> dict[str, str]:
    """Read what a process was started with; one that has just ended has nothing."""
    try:
        return process.environ()
    except psutil.Error:
        return {}


def without(env: Mapping[str, str], *names: str) -> dict[str, str]:
    """Copy an environment without some variables."""
    return {name: value for name, value in env.items() if name not in names}
