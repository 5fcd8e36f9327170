"""One cell of the matrix: one version of srt, as one user, and everything it does.

Runs in the container, where homeroom is installed, and prints one JSON object: ``seen``, what
was seen of each behaviour by name, and ``packages``, what is installed there.

usage: cell.py SUITE | agent NAME
"""

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from homeroom import paths, process
from homeroom.home import Instance
from homeroom.paths import Paths
from homeroom.policy import Policy
from homeroom.sandbox import Command, Host, behaviours, trial
from homeroom.sandbox.behaviours import Bench
from homeroom.sandbox.srt import CALLED, Srt, sandbox_path
from homeroom.toolchain import store
from homeroom.toolchain.store import Toolchain
from matrix import agent_cell, inventory, suite

ROOT = Path("/opt/homeroom")
_LIMIT = 30.0
_RACE_ROUNDS = 6
_LARGE = 4_000_000
_REAL = "the-real-one"
# Connects before anything else does: the prelude would wait.
_FIRST = "exec 3<>/dev/tcp/127.0.0.1/3128"


def main(words: Sequence[str]) -> int:
    """Observe, and print what was seen."""
    places = paths.locate(os.environ)
    toolchain = store.require(places, os.environ)
    if words[0] == "agent":
        seen = agent_cell.observe(words[1])
    else:
        seen = _observe(places, toolchain)
        if words[0] != "none":
            _tell("the hermetic tests")
            version = toolchain.tools["srt"].version
            seen["suite.hermetic"] = suite.run(ROOT, words[0], version)  # type: ignore[arg-type]
    print(json.dumps({"seen": seen, "packages": inventory.collect(ROOT, toolchain.tools)}))
    return 0


def _observe(places: Paths, toolchain: Toolchain) -> dict[str, str]:
    programs = {
        name: Path(shutil.which(name) or f"/usr/bin/{name}") for name in ("bwrap", "socat", *CALLED)
    }
    pinned = [toolchain.tools["node"].path, toolchain.tools["ripgrep"].path]
    path = sandbox_path(programs, pinned)
    sandbox = Srt(Host(toolchain, programs, path, allow_untried=True))
    with tempfile.TemporaryDirectory(prefix="cell-") as scratch:
        home = Path(scratch, "user")
        home.mkdir()
        secret = home / "secret"
        secret.write_text("the user's\n")

        def rules(instance: Instance, workspace: Path, hosts: tuple[str, ...]) -> Policy:
            writable = (instance.home, instance.tmp, workspace)
            return Policy(
                deny_read=(home, places.state, places.data, places.config, places.temp),
                allow_read=(*writable, instance.runtime, instance.control),
                allow_write=writable,
                deny_write=tuple(p for p in (workspace / ".git/hooks",) if p.exists()),
                hosts=hosts,
            )

        bench = Bench(
            sandbox,
            places,
            toolchain.tools["node"].path,
            rules,
            {"read.user-home": secret},
            os.environ["PATH"],
        )
        work = Path(scratch, "work")
        work.mkdir()
        _tell("what a room depends on")
        seen = dict(behaviours.observe(bench, work))
        for name, look in _MORE.items():
            _tell(name)
            seen[name] = _safely(look, bench, work)
    return seen


def _tell(line: str) -> None:
    # A cell that takes too long is ended, and its log shows what it was at.
    print(f"cell: {time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)


def _safely(look: Callable[[Bench, Path], str], bench: Bench, work: Path) -> str:
    try:
        return look(bench, work)
    except Exception as error:  # noqa: BLE001
        return f"{type(error).__name__}: {error}"


def _spoiled(bench: Bench, work: Path, spoil: Callable[[Path], object]) -> str:
    """Start under a settings file that is not what was written: nothing may run."""
    with trial.scratch_instance(bench.paths) as instance:
        inside = trial.command_line(
            ("/bin/sh", "-c", "echo ran"), work, instance, {"PATH": bench.search_path}
        )
        bench.sandbox.prepare(instance, bench.rules(instance, work, ()), inside)
        command = bench.sandbox.command(instance, "exec")
        spoil(_settings(command))
        # Without the prelude: it would refuse by itself, and hide what srt does.
        argv = [*command.argv[: command.argv.index("--") + 1], "/bin/echo", "ran"]
        done = _run(argv, command.environment, command.directory)
    return "open" if "ran" in done.stdout else "refused"


def _settings(command: Command) -> Path:
    return Path(command.argv[command.argv.index("--settings") + 1])


def _bad_settings(bench: Bench, work: Path) -> str:
    return _spoiled(bench, work, lambda path: path.write_text("{ not json"))


def _missing_settings(bench: Bench, work: Path) -> str:
    return _spoiled(bench, work, Path.unlink)


def _direct(
    bench: Bench, work: Path, *words: str, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a command in srt without the prelude."""
    with trial.scratch_instance(bench.paths) as instance:
        inside = trial.command_line(("/bin/true",), work, instance, {"PATH": bench.search_path})
        bench.sandbox.prepare(instance, bench.rules(instance, work, ("127.0.0.1:9",)), inside)
        command = bench.sandbox.command(instance, "exec")
        argv = [*command.argv[: command.argv.index("--") + 1], *words]
        return _run(argv, command.environment, command.directory, stdin)


def _run(
    argv: list[str], environ: Mapping[str, str], directory: Path, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    with subprocess.Popen(
        argv, env=dict(environ), cwd=directory, text=True, errors="replace", start_new_session=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as child:  # fmt: skip
        try:
            output, errors = child.communicate(stdin, timeout=_LIMIT)
        except subprocess.TimeoutExpired:
            output, errors = "", "timed out"
        finally:
            process.send_group(child.pid, signal.SIGKILL)
    return subprocess.CompletedProcess(argv, child.returncode, output, errors)


def _race(bench: Bench, work: Path) -> str:
    script = work / "first.sh"
    script.write_text(f"{_FIRST} && echo reached\n")
    tries = [_direct(bench, work, "/bin/bash", str(script)).stdout for _ in range(_RACE_ROUNDS)]
    missed = sum("reached" not in output for output in tries)
    return "open" if not missed else "refused"


def _stdin(bench: Bench, work: Path) -> str:
    done = _direct(bench, work, "/usr/bin/wc", "-c", stdin="x" * _LARGE)
    return "open" if done.stdout.strip() == str(_LARGE) else f"{done.stdout.strip()!r}"


def _terminal(bench: Bench, work: Path) -> str:
    """Run on a terminal of 97 columns and see what the command is told of it."""
    script = work / "size.sh"
    script.write_text("[ -t 0 ] && [ -t 1 ] && stty size\n")
    with trial.scratch_instance(bench.paths) as instance:
        inside = trial.command_line(("/bin/true",), work, instance, {"PATH": bench.search_path})
        bench.sandbox.prepare(instance, bench.rules(instance, work, ()), inside)
        command = bench.sandbox.command(instance, "exec")
        argv = [*command.argv[: command.argv.index("--") + 1], "/bin/sh", str(script)]
        shown = _on_terminal(argv, command.environment, command.directory)
    return "open" if "31 97" in shown else f"{shown.strip()[-60:]!r}"


def _on_terminal(argv: list[str], environ: Mapping[str, str], directory: Path) -> str:
    import fcntl
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 31, 97, 0, 0))
    child = subprocess.Popen(
        argv,
        env=dict(environ),
        cwd=directory,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    shown = b""
    try:
        child.wait(timeout=_LIMIT)
        os.set_blocking(ours, False)
        while part := os.read(ours, 65536):
            shown += part
    except (OSError, subprocess.TimeoutExpired):
        pass
    finally:
        process.send_group(child.pid, signal.SIGKILL)
        child.wait()
        os.close(ours)
    return shown.decode(errors="replace")


def _control(bench: Bench, work: Path) -> str:
    """Start with a control descriptor, over which a whole configuration may follow."""
    with trial.scratch_instance(bench.paths) as instance:
        inside = trial.command_line(("/bin/true",), work, instance, {"PATH": bench.search_path})
        bench.sandbox.prepare(instance, bench.rules(instance, work, ()), inside)
        command = bench.sandbox.command(instance, "exec")
        reads, writes = os.pipe()
        at = command.argv.index("--")
        argv = [*command.argv[:at], "--control-fd", str(reads), "--", "/bin/echo", "ran"]
        child = subprocess.Popen(
            argv,
            env=dict(command.environment),
            cwd=command.directory,
            pass_fds=(reads,),
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(reads)
        os.close(writes)
        try:
            output = child.communicate(timeout=_LIMIT)[0]
        finally:
            process.send_group(child.pid, signal.SIGKILL)
            child.wait()
    return "open" if "ran" in output else "refused"


def _masked_variable(bench: Bench, work: Path) -> str:
    entry = {"name": "A_SECRET", "mode": "mask", "injectHosts": ["127.0.0.1"]}
    return _masked(bench, work, {"envVars": [entry]}, "/usr/bin/printenv", "A_SECRET")


def _masked_file(bench: Bench, work: Path) -> str:
    path = work / "a-secret"
    path.write_text(_REAL)
    entry = {"path": str(path), "mode": "mask", "injectHosts": ["127.0.0.1"]}
    return _masked(bench, work, {"files": [entry]}, "/bin/cat", str(path))


def _masked(bench: Bench, work: Path, credentials: dict[str, object], *words: str) -> str:
    """Ask for a secret to be masked: the command must see a stand-in."""
    with trial.scratch_instance(bench.paths) as instance:
        inside = trial.command_line(("/bin/true",), work, instance, {"PATH": bench.search_path})
        bench.sandbox.prepare(instance, bench.rules(instance, work, ("127.0.0.1",)), inside)
        command = bench.sandbox.command(instance, "exec")
        path = _settings(command)
        settings = json.loads(path.read_text())
        settings["credentials"] = {**credentials, "allowPlaintextInject": True}
        settings["network"]["allowedDomains"] = ["127.0.0.1"]
        path.write_text(json.dumps(settings))
        argv = [*command.argv[: command.argv.index("--") + 1], *words]
        done = _run(argv, {**command.environment, "A_SECRET": _REAL}, command.directory)
    if "fake_value_" in done.stdout:
        return "open"
    return "refused" if _REAL in done.stdout else f"{(done.stdout or done.stderr).strip()[-80:]!r}"


_MORE: Mapping[str, Callable[[Bench, Path], str]] = {
    "settings.bad-refused": _bad_settings,
    "settings.missing-refused": _missing_settings,
    "race.first-request": _race,
    "stdin.large": _stdin,
    "terminal.size": _terminal,
    "option.control-fd": _control,
    "option.mask-variable": _masked_variable,
    "option.mask-file": _masked_file,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
