"""Probes that really start each agent at a terminal, in a throw-away room."""

import contextlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import psutil

from homeroom import provider
from homeroom.check import sandbox
from homeroom.check.model import Finding, Probe, Surroundings, fail, ok, skipped
from homeroom.files import ensure_private_dir

_LIMIT = 25.0
_PATIENCE = 10.0
_POLL = 0.1
_SIZE = ("-x", "120", "-y", "40")


@contextlib.contextmanager
def _terminal(argv: list[str], environ: Mapping[str, str], directory: Path) -> Iterator[list[str]]:
    """Hold a program in a tmux server of its own; yield the command to speak to it with."""
    tmux = shutil.which("tmux", path=environ.get("PATH", os.defpath)) or "tmux"
    # Beside the work, not in $TMPDIR: a socket's path must be short.
    with tempfile.TemporaryDirectory(prefix="hr-tmux-", dir=directory.parent) as scratch:
        client = [tmux, "-S", f"{scratch}/s", "-f", "/dev/null"]
        values = {**environ, "TERM": "xterm-256color", "TMUX_TMPDIR": scratch}
        values.pop("TMUX", None)
        try:
            subprocess.run(
                [*client, "new-session", "-d", *_SIZE, "-c", str(directory), shlex.join(argv)],
                check=True,
                capture_output=True,
                env=values,
            )
            yield client
        finally:
            held = _held(client)
            subprocess.run([*client, "kill-server"], check=False, capture_output=True, env=values)
            # It is told by SIGHUP, and wipes its room before it goes.
            psutil.wait_procs(held, _PATIENCE)


def _held(client: list[str]) -> list[psutil.Process]:
    listed = subprocess.run(
        [*client, "list-panes", "-F", "#{pane_pid}"], check=False, capture_output=True, text=True
    )
    found: list[psutil.Process] = []
    for pid in listed.stdout.split():
        with contextlib.suppress(psutil.Error):
            leader = psutil.Process(int(pid))
            found += [leader, *leader.children(recursive=True)]
    return found


def _screen(client: list[str]) -> str | None:
    shown = subprocess.run(
        [*client, "capture-pane", "-p"], check=False, capture_output=True, text=True
    )
    return shown.stdout if shown.returncode == 0 else None


def _reaches_prompt(name: str, around: Surroundings) -> Finding:
    if around.program("tmux") is None:
        return skipped("tmux is not installed")
    around.require_toolchain()
    ensure_private_dir(around.paths.state)
    agent = provider.get(name)
    argv = [sys.executable, "-P", "-m", "homeroom", "start", name, "--demo", "--trial"]
    with tempfile.TemporaryDirectory(
        prefix="homeroom-check-", dir=around.paths.temp.parent
    ) as work:
        begin = time.monotonic()
        shown = ""
        with _terminal(argv, around.environ, Path(work)) as client:
            while time.monotonic() - begin < _LIMIT and not around.stopping.is_set():
                screen = _screen(client)
                if screen is None:
                    break
                shown = screen
                if agent.is_at_prompt(shown):
                    return ok(f"at the prompt after {time.monotonic() - begin:.1f} s, no dialog")
                time.sleep(_POLL)
    lines = [line.strip() for line in shown.splitlines() if line.strip()]
    return fail(
        f"no prompt; the screen says: {' / '.join(lines[-3:]) or 'nothing'}",
        f"homeroom start {name} --demo",
    )


PROBES = tuple(
    Probe(
        f"onboarding.{name}",
        f"{name} starts at its prompt, with no dialog before it",
        partial(_reaches_prompt, name),
        is_quick=False,
        limit=40.0,
        needs=("sandbox", *sandbox.NEEDS),
    )
    for name in provider.names()
)
