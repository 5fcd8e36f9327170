"""Runs homeroom with one thing that goes wrong at one moment, which no option can do.

usage: python patched.py MOMENT EVENT HOMEROOM-ARGUMENT...

MOMENT is a step of a run (``STEPS``), ``change:N`` (the N-th time that homeroom changes
something below HOMEROOM_HOME) or ``change:N+`` (that time and all later ones).
EVENT is a signal for this process (``SIGTERM``), an error of the operating system
(``ENOSPC``), or a way to break the sandbox (``SABOTAGE``), for which MOMENT is "spawn".
"""

import errno
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from homeroom import archive, home, seeding, trash
from homeroom.cli.main import main
from homeroom.provider.claude import Claude
from homeroom.run import lock, record
from homeroom.sandbox import Command
from homeroom.sandbox.srt import Srt
from homeroom.session import engine
from homeroom.session.container import Container
from homeroom.session.foreground import Foreground

Happen = Callable[[], None]
HAPPENED = "patched: it has happened"


def always(*_: Any) -> bool:
    return True


def in_state(*states: str) -> Callable[..., bool]:
    return lambda _path, new: new.state in states


class Step:
    """A moment before or after a call of a function."""

    def __init__(
        self, owner: Any, name: str, when: str, where: Callable[..., bool] = always
    ) -> None:
        self.owner, self.name, self.when, self.where = owner, name, when, where

    def arrange(self, happen: Happen) -> None:
        real = getattr(self.owner, self.name)
        done = False

        def called(*arguments: Any, **more: Any) -> Any:
            nonlocal done
            now = not done and self.where(*arguments, **more)
            done = done or now
            if now and self.when == "before":
                happen()
            result = real(*arguments, **more)
            if now and self.when == "after":
                happen()
            return result

        setattr(self.owner, self.name, called)


STEPS = {
    "before the lock": Step(lock, "try_acquire", "before"),
    "locked": Step(lock, "try_acquire", "after"),
    "recorded": Step(record, "save", "after", in_state("allocated")),
    "half a room": Step(home, "create_private", "after"),
    "a room": Step(home, "materialize", "after"),
    "half seeded": Step(seeding, "write", "after"),
    "injected": Step(Claude, "inject", "after"),
    "settings written": Step(Srt, "prepare", "after"),
    "prepared": Step(record, "save", "after", in_state("prepared")),
    "spawned": Step(Foreground, "_wait", "before"),
    "started": Step(record, "save", "after", in_state("running")),
    "ended": Step(record, "save", "after", in_state("ending")),
    "archiving": Step(archive, "keep", "before"),
    "archived": Step(archive, "keep", "after"),
    "half wiped": Step(trash, "remove_trees", "before"),
    "wiped": Step(home, "wipe", "after"),
    "closing": Step(record, "save", "before", in_state("ended", "failed")),
    "unlocking": Step(lock.RunLock, "release", "before"),
}
# The same for a run in a container.
CONTAINER_STEPS = {
    "container noted": Step(Container, "_note", "after"),
    "container made": Step(Container, "_create", "after"),
    "container running": Step(Container, "_accept", "after"),
    "streams handed over": Step(Container, "_hand_over", "after"),
    "container removed": Step(engine, "remove", "after"),
}


def arrange_change(first: int, *, lasting: bool, happen: Happen) -> None:
    """Let something happen at a change of the file system, in place of the change."""
    root = os.path.realpath(os.environ["HOMEROOM_HOME"])
    count = 0

    def counted(path: Any) -> None:
        nonlocal count
        if isinstance(path, str | bytes | os.PathLike) and os.fsdecode(path).startswith(root):
            count += 1
            if count == first or (lasting and count > first):
                happen()

    def watched(name: str, which: Callable[..., bool] = always) -> None:
        real = getattr(os, name)

        def called(path: Any, *arguments: Any, **more: Any) -> Any:
            if which(*arguments):
                counted(path)
            return real(path, *arguments, **more)

        setattr(os, name, called)

    def is_creation(flags: int, *_: Any) -> bool:
        return bool(flags & os.O_CREAT)

    watched("open", is_creation)
    watched("mkdir")
    watched("mkfifo")
    if not lasting:
        # On a full disk these still work.
        for name in ("unlink", "rename", "replace"):
            watched(name)


def sabotage(settings: Path, name: str) -> None:
    """Break the settings that srt is about to read."""
    content = json.loads(settings.read_bytes())
    files = content["filesystem"]
    if name == "reading is free":
        files["denyRead"] = []
    elif name == "one secret is free":
        # All that is denied but the canary's place.
        state = os.path.realpath(os.path.join(os.environ["HOMEROOM_HOME"], "state"))
        files["denyRead"] = [rule for rule in files["denyRead"] if rule["path"] == state]
    elif name == "writing is free":
        files["allowWrite"] = [{"path": "/", "literal": True}]
    elif name == "the toolchain is writable":
        toolchain = os.path.realpath(os.environ["HOMEROOM_TOOLCHAIN"])
        files["allowWrite"].append({"path": toolchain, "literal": True})
    if name == "settings are empty":
        settings.write_text("")
    elif name == "settings are damaged":
        settings.write_bytes(settings.read_bytes()[:-20])
    elif name == "settings are missing":
        settings.unlink()
    else:
        settings.write_text(json.dumps(content))


SABOTAGE = (
    "reading is free",
    "one secret is free",
    "writing is free",
    "the toolchain is writable",
    "settings are empty",
    "settings are damaged",
    "settings are missing",
)


def arrange_sabotage(name: str) -> None:
    real: Any = Foreground.run

    def called(self: Foreground, command: Command, *arguments: Any) -> Any:
        sabotage(Path(command.argv[command.argv.index("--settings") + 1]), name)
        return real(self, command, *arguments)

    setattr(Foreground, "run", called)  # noqa: B010


def event(name: str) -> Happen:
    def happen() -> None:
        # Whoever goes through all moments must know when there are no more.
        sys.stderr.write(f"{HAPPENED}\n")
        sys.stderr.flush()
        if name.startswith("SIG"):
            os.kill(os.getpid(), getattr(signal, name))
        else:
            number = getattr(errno, name)
            raise OSError(number, os.strerror(number), "a file")

    return happen


def run(moment: str, what: str, arguments: list[str]) -> int:
    if what in SABOTAGE:
        arrange_sabotage(what)
    elif moment.startswith("change:"):
        number = moment.removeprefix("change:")
        lasting = number.endswith("+")
        arrange_change(int(number.rstrip("+")), lasting=lasting, happen=event(what))
    else:
        (STEPS | CONTAINER_STEPS)[moment].arrange(event(what))
    return main(arguments)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1], sys.argv[2], sys.argv[3:]))
