"""A cell that starts an agent's real program. Runs in the container."""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from homeroom import paths, provider
from homeroom.testing.terminal import Terminal

_LIMIT = 60.0
_ANSWER = "Hello from a private, pinned, sandboxed room."
_MADE = "hello-from-the-room.txt"


def observe(name: str) -> dict[str, str]:
    """Start an agent several times, each with the demo's model server.

    Args:
        name: The provider's.

    Returns:
        What was seen of each behaviour.
    """
    with _workspace() as work:
        seen = {"agent.prompt": _prompt(name, work)}
        seen["agent.answers"] = _said(_once(name, work, "hello"))
        done = _once(name, work, "write a file")
        seen["agent.acts"] = "open" if (work / _MADE).is_file() else _last(done)
    seen["agent.leaves"] = _leftovers()
    return seen


@contextmanager
def _workspace() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="work-") as name:
        yield Path(name).resolve()


def _command(name: str, *more: str) -> list[str]:
    return [sys.executable, "-m", "homeroom", "start", name, "--demo", "--allow-untried", *more]


def _prompt(name: str, work: Path) -> str:
    agent = provider.get(name)
    deadline = time.monotonic() + _LIMIT
    with Terminal() as terminal:
        terminal.start(_command(name), env=os.environ, cwd=work, size=(120, 40))
        while not agent.is_at_prompt(shown := terminal.screen()):
            if time.monotonic() > deadline:
                lines = [line.strip() for line in shown.splitlines() if line.strip()]
                return f"no prompt: {' / '.join(lines[-3:])}"
            time.sleep(0.1)
    return "open"


def _once(name: str, work: Path, prompt: str) -> "subprocess.CompletedProcess[str]":
    done = subprocess.run(
        _command(name, f"--afk={prompt}", f"--timeout={_LIMIT:.0f}"),
        cwd=work,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    sys.stderr.write(done.stderr)
    return done


def _said(done: "subprocess.CompletedProcess[str]") -> str:
    is_whole = done.returncode == 0 and re.fullmatch(rf"{re.escape(_ANSWER)}.*\n", done.stdout)
    return "open" if is_whole else _last(done)


def _last(done: "subprocess.CompletedProcess[str]") -> str:
    lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
    return f"status {done.returncode}: {lines[-1] if lines else 'silence'}"


def _leftovers() -> str:
    left = [path.name for path in paths.locate(os.environ).instances.glob("run_*")]
    # The container's first process takes in whoever lost its parent.
    own = (1, os.getpid())
    left += [each.name() for each in psutil.process_iter() if each.pid not in own]
    return "open" if not left else f"left: {', '.join(sorted(left))}"
