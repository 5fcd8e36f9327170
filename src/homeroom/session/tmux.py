"""Runs held by a tmux server of homeroom's own, which outlives the terminal.

The server has a socket of its own and reads no configuration, so that the user's tmux and
its options are neither used nor touched.
"""

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from homeroom.errors import StateError, ToolError
from homeroom.files import create_private, ensure_private_dir, explain
from homeroom.paths import Paths

_SIZE = ("-x", "200", "-y", "50")
_TIME_LIMIT = 20.0
_TRIES = 3
_PAUSE = 0.1
# What tmux says when its server ends before it has answered (client_exit_message, client.c).
_GONE = ("server exited", "lost server")
# Of 2017: named buffers, and targets that match as a whole.
_OLDEST = (2, 6)
_CURE = (
    "install tmux: apt install tmux, dnf install tmux, brew install tmux; "
    "see docs/how-to/install-system-tools.md"
)


class Tmux:
    """homeroom's tmux server.

    Args:
        paths: homeroom's directories; the socket is in the short one.
        environ: The caller's environment; its PATH says where tmux is.
    """

    def __init__(self, paths: Paths, environ: Mapping[str, str]) -> None:
        self._paths = paths
        self._environ = environ

    @property
    def socket(self) -> Path:
        """The server's socket."""
        return self._paths.temp / "tmux"

    def log(self, run_id: str) -> Path:
        """Tell where everything that a run shows on its terminal is kept."""
        return self._paths.state / "logs" / f"{run_id}.log"

    def argv(self, *words: str) -> list[str]:
        """Give a tmux command line for this server.

        Raises:
            ToolError: tmux is not installed.
        """
        program = shutil.which("tmux", path=self._environ.get("PATH", os.defpath))
        if program is None:
            raise ToolError("tmux is not installed, which holds detached runs", _CURE)
        return [program, "-S", str(self.socket), "-f", "/dev/null", *words]

    def hold(self, run_id: str, argv: Sequence[str], directory: Path, label: str) -> None:
        """Start a program in a session of its own, with its output logged.

        Args:
            run_id: The session's name.
            label: What its status line calls it.
            argv: The program. It must wait until it is told to begin: what it says before
                the log is connected is lost.
            directory: Where it starts.

        Raises:
            ToolError: tmux is missing, or would not start it.
            StateError: The log cannot be written.
        """
        # Before anything is made: what cannot be held leaves no log behind.
        self._require_version()
        ensure_private_dir(self._paths.temp)
        log = self.log(run_id)
        ensure_private_dir(log.parent)
        try:
            create_private(log, b"")
        except OSError as error:
            raise explain(error, log, "write") from error
        # Several words are executed as they are, a single one by the user's shell.
        start = ("new-session", "-d", *_SIZE, "-s", run_id, "-c", str(directory), "--")
        try:
            self._begin(*start, *(_word(word) for word in argv))
            # Not the user's terminal: the shell that tmux starts for this only appends.
            self._run("pipe-pane", "-t", f"={run_id}:", f"cat >> {shlex.quote(str(log))}")
            self._label(run_id, label)
        except BaseException:
            with contextlib.suppress(ToolError):
                self._call("kill-session", "-t", f"={run_id}")
            log.unlink(missing_ok=True)
            raise

    def _begin(self, *words: str) -> None:
        """Make a session, again where the server was just about to end with its last one.

        It takes the call, and goes without an answer: nothing was made.
        """
        done = self._call(*words)
        for _ in range(_TRIES):
            if done.returncode == 0 or not any(one in done.stderr for one in _GONE):
                break
            time.sleep(_PAUSE)
            done = self._call(*words)
        _require_done(done, words[0])

    def _label(self, run_id: str, label: str) -> None:
        """Have the status line say whose terminal this is, and how to leave it."""
        target = ("-q", "-t", f"={run_id}:")
        options = (
            # Of the user's own making, and so not for tmux to expand: it is only a value.
            (*target, "@homeroom", _word(label)),
            (*target, "status-left", " #{@homeroom} "),
            (*target, "status-left-length", "100"),
            (*target, "status-right", " leave it running: Ctrl-B, then D "),
            ("-w", *target, "window-status-format", ""),
            ("-w", *target, "window-status-current-format", ""),
        )
        words = [word for option in options for word in (";", "set-option", *option)]
        # Only a look, and no reason to end a run.
        self._call(*words[1:])

    def has(self, run_id: str) -> bool:
        """Tell whether a session is there."""
        return self._look("has-session", "-t", f"={run_id}").returncode == 0

    def paste(self, run_id: str, text: str) -> None:
        """Put a text into a session, as from a clipboard.

        Raises:
            ToolError: tmux would not.
        """
        buffer = f"homeroom-{os.urandom(6).hex()}"
        # On its standard input: a command line can be seen, is limited, and ends at a ";".
        self._run("load-buffer", "-b", buffer, "-", said=text)
        self._run("paste-buffer", "-d", "-p", "-r", "-b", buffer, "-t", f"={run_id}:")

    def screen(self, run_id: str, *options: str) -> str:
        """Tell what a session's screen shows; nothing once it is over.

        Args:
            run_id: The session.
            options: More of tmux's own for ``capture-pane``.
        """
        return self._call("capture-pane", "-p", *options, "-t", f"={run_id}:").stdout

    def terminal(self, run_id: str) -> str:
        """Tell which terminal device a session has; "" once it is over."""
        return self._ask(run_id, "#{pane_tty}")

    def process(self, run_id: str) -> int | None:
        """Tell which process a session was made for; None once it is over."""
        said = self._ask(run_id, "#{pane_pid}")
        return int(said) if said.isdecimal() else None

    def _ask(self, run_id: str, what: str) -> str:
        return self._look("display-message", "-p", "-t", f"={run_id}:", what).stdout.strip()

    def _look(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Call tmux again where a signal has ended it: that is no answer, least of all a "no"."""
        done = self._call(*words)
        for _ in range(_TRIES):
            if done.returncode >= 0:
                break
            done = self._call(*words)
        return done

    def send_keys(self, run_id: str, *keys: str) -> None:
        """Press keys, by tmux's names for them.

        Raises:
            StateError: There is no such session.
        """
        self.require(run_id)
        self._run("send-keys", "-t", f"={run_id}:", *keys)

    def attach_argv(self, run_id: str) -> list[str]:
        """Give the command that shows a session on this terminal.

        Raises:
            StateError: There is no such session.
        """
        self.require(run_id)
        return self.argv("attach-session", "-t", f"={run_id}")

    def _require_version(self) -> None:
        said = self._call("-V").stdout
        # What is no number ("master", "openbsd-7.4") is a newer one.
        found = re.match(r"tmux (\d+)\.(\d+)", said)
        if found and (int(found[1]), int(found[2])) < _OLDEST:
            oldest = ".".join(map(str, _OLDEST))
            raise ToolError(f"{said.strip()} is too old: {oldest} or newer is needed", _CURE)

    def require(self, run_id: str) -> None:
        """Refuse a run that this server does not hold.

        Raises:
            StateError: There is no such session.
        """
        if not self.has(run_id):
            raise StateError(
                f"{run_id} is not held by homeroom's tmux server",
                "only runs that were started with --detach can be attached to",
            )

    def _run(self, *words: str, said: str = "") -> None:
        _require_done(self._call(*words, said=said), words[0])

    def _call(self, *words: str, said: str = "") -> "subprocess.CompletedProcess[str]":
        # The server keeps the environment that it is started with: only what it needs.
        environ = {
            name: self._environ[name]
            for name in ("HOME", "PATH", "LANG", "LC_ALL", "LC_CTYPE", "SHELL", "USER")
            if name in self._environ
        }
        try:
            return subprocess.run(
                self.argv(*words),
                check=False,
                capture_output=True,
                text=True,
                errors="surrogateescape",
                input=said,
                env={**environ, "TERM": self._environ.get("TERM", "xterm-256color")},
                timeout=_TIME_LIMIT,
                # Ctrl-C is for homeroom to answer.
                process_group=0,
            )
        except subprocess.TimeoutExpired as error:
            raise ToolError(
                f"tmux {words[0]} did not answer within {_TIME_LIMIT:.0f} seconds",
                "end its server, and with it the runs that it holds: "
                f"fuser -k {shlex.quote(str(self.socket))}",
            ) from error
        except OSError as error:
            raise ToolError(f"tmux cannot be run: {error.strerror}", _CURE) from error


def _require_done(done: "subprocess.CompletedProcess[str]", word: str) -> None:
    if done.returncode != 0:
        said = done.stderr.strip() or f"status {done.returncode}"
        raise ToolError(f"tmux {word} failed: {said}", "homeroom check --only system")


def _word(word: str) -> str:
    """Quote a word for tmux, to which a last ";" is the end of its command."""
    return f"{word[:-1]}\\;" if word.endswith(";") else word
