"""A run held in the foreground: the terminal and the streams are the caller's own."""

import contextlib
import re
import selectors
import signal
import time
from collections.abc import Callable

import msgspec

from homeroom import process
from homeroom.errors import EndedBySignalError
from homeroom.home import Instance
from homeroom.sandbox import Command, Mode
from homeroom.session import child as local
from homeroom.session import terminal
from homeroom.session.child import Child
from homeroom.session.control import Control
from homeroom.session.job import Job
from homeroom.session.limits import Limits, Timer
from homeroom.session.relay import Relay
from homeroom.session.signals import ENDING, Signals

_START_LIMIT = 60.0
_TERMINATE_LIMIT = 2.0
# As timeout(1) says it.
_EXPIRED = 124
_IMPATIENT = 3
_SIGNALLED = 128
_PID = re.compile(r"[0-9]{1,10}")


class Outcome(msgspec.Struct, frozen=True):
    """How a run ended.

    Attributes:
        status: The exit status to return: the agent's own, or 128 and the signal that
            homeroom was ended with.
        started: Whether the sandbox was proven and the agent started.
        refusal: What the proof found, where it refused.
        ended_by: The signal that homeroom itself was ended with.
    """

    status: int
    started: bool
    refusal: str | None = None
    ended_by: int | None = None


class Foreground:
    """One sandboxed process, waited for.

    Args:
        instance: The run's places; the FIFOs are in its control directory.
        signals: This process's signals.
        mode: "job" when the agent has a parent in the sandbox that can see it stop.
        grace: How long an agent that was asked to end may take, in seconds.
        limits: When the run is to be ended, asked or not.
        spawn: Starts the process, by default on this machine.
    """

    def __init__(
        self,
        instance: Instance,
        signals: Signals,
        mode: Mode,
        grace: float,
        limits: Limits | None = None,
        spawn: Callable[[Command], Child] = local.spawn,
    ) -> None:
        self._spawn = spawn
        self._job = Job(signals)
        self._relay = Relay()
        self._limits = limits or Limits()
        self._expired = False
        self._instance = instance
        self._mode = mode
        self._signals = signals
        self._grace = grace
        self._child: Child | None = None
        self._control: Control
        self._is_proven = False
        self._is_let_in = False
        self._inner: int | None = None
        self._agent: int | None = None
        self._refusal: str | None = None
        self._ended_by: int | None = None
        self._killed = False
        self._stop_asked = False
        self._is_frozen = False
        self._ladder: list[tuple[float, int]] = []
        self._interrupts: list[float] = []

    def run(self, command: Command, on_start: Callable[[int], None]) -> Outcome:
        """Start the process and wait until it is over; nothing of it is left then.

        Args:
            command: What to start.
            on_start: Called once, with the process's pid, when the agent has started.

        Returns:
            How it ended.

        Raises:
            ToolError: It could not be started.
            StateError: Processes of the run could not be ended.
            EndedBySignalError: A signal asked for the end while another job had the terminal.
        """
        self._signals.watch_session()
        if not self._job.await_terminal():
            self._signals.check()
            raise EndedBySignalError(signal.SIGHUP)
        # Another job's are not ours to give back.
        modes = terminal.remember() if self._job.has_terminal else None
        self._control = Control(self._instance.control)
        try:
            with self._streams():
                self._child = self._spawn(command)
            self._signals.watch_stop()
            self._wait(self._child, self._control, on_start)
        finally:
            self._end_all()
            patience = None if self._ended_by is None else _TERMINATE_LIMIT
            self._relay.finish(self._signals.is_ending, patience)
            self._control.close()
            terminal.give_back(modes, reset_screen=self._killed or self._was_ended())
        return self._outcome(self._child)

    def _streams(self) -> contextlib.AbstractContextManager[None]:
        """Hand over the terminal only where this job has it, and nothing goes on without it."""
        return contextlib.nullcontext() if self._job.has_terminal else self._relay.in_place()

    def _wait(self, child: Child, control: Control, on_start: Callable[[int], None]) -> None:
        start_limit = time.monotonic() + _START_LIMIT
        timer = Timer(self._limits)
        with selectors.DefaultSelector() as selector:
            selector.register(self._signals.fileno(), selectors.EVENT_READ)
            selector.register(control, selectors.EVENT_READ)
            if (ended := child.fileno()) is not None:
                selector.register(ended, selectors.EVENT_READ)
            while True:
                was_started = self._inner is not None
                self._listen(control)
                if self._inner is not None and not was_started:
                    on_start(child.pid)
                while self._signals.pending:
                    self._handle(self._signals.pending.popleft())
                self._obey_stop()
                self._watch_terminal()
                self._let_in()
                if child.poll() is not None:
                    self._listen(control)
                    return
                if self._inner is None and time.monotonic() - self._job.paused > start_limit:
                    self._refusal = f"it did not start within {_START_LIMIT:.0f} seconds"
                    return
                self._watch_limits(timer)
                self._climb(child)
                selector.select(self._patience())
                self._signals.drain()

    def _patience(self) -> float | None:
        """How long to sleep: for ever, unless something is due."""
        if self._ladder:
            return max(0.0, self._ladder[0][0] - time.monotonic())
        is_watched = self._limits.is_set or self._job.has_terminal
        return 1.0 if self._inner is None or is_watched else None

    def _watch_limits(self, timer: Timer) -> None:
        if self._ended_by is None and timer.is_over():
            self._expired = True
            self._begin_end(signal.SIGTERM)

    def _listen(self, control: Control) -> None:
        has_stopped = False
        # The agent can write there too; what it may say is only that it wants to stop.
        for line in control.hear():
            word, _, detail = line.partition(" ")
            if self._inner is None and word == "started" and _PID.fullmatch(detail):
                self._inner = int(detail)
            elif self._inner is None and word == "proven":
                self._is_proven = True
            elif self._inner is None and word == "refused":
                self._refusal = detail
            elif self._inner is not None and line == "stopped" and self._mode == "job":
                # Without a terminal no shell would ever let this job, and all that is in its
                # process group, go on again.
                has_stopped = True
        # Once, however often it says so, and not when the end is asked for: an agent that
        # lies could not be ended otherwise.
        if has_stopped and self._ended_by is None and not self._signals.is_ending():
            self._suspend()

    def _handle(self, number: int) -> None:
        if number == signal.SIGWINCH:
            self._relay.resize()
            self._to_agent(signal.SIGWINCH)
        elif number == signal.SIGTSTP:
            self._stop_asked = True
        elif number == signal.SIGINT and self._can_interrupt() and not self._is_impatient():
            self._to_agent(signal.SIGINT)
        elif number in ENDING:
            self._begin_end(number)

    def _can_interrupt(self) -> bool:
        return self._inner is not None and not self._is_frozen

    def _is_impatient(self) -> bool:
        """Tell whether Ctrl-C came three times within as many seconds."""
        now = time.monotonic()
        self._interrupts = [at for at in self._interrupts if now - at < _IMPATIENT] + [now]
        return len(self._interrupts) >= _IMPATIENT

    def _begin_end(self, number: int) -> None:
        if self._ended_by is not None:
            return
        self._ended_by = number
        now = time.monotonic()
        if self._is_frozen:
            # Woken to tidy up, it would do so on a terminal that another job has.
            self._ladder = [(now, signal.SIGKILL)]
            return
        # A hang-up alone does not end every agent: what is meant is the end.
        asked = signal.SIGINT if number == signal.SIGINT else signal.SIGTERM
        reached = self._inner is not None and self._to_agent(asked)
        # srt on SIGTERM kills its tree at once, the command's own handler never runs: so
        # the agent is asked first, and srt only when that did not help.
        wait = self._grace if reached else 0.0
        self._ladder = [
            (now + wait, signal.SIGTERM),
            (now + wait + _TERMINATE_LIMIT, signal.SIGKILL),
        ]

    def _climb(self, child: Child) -> None:
        while self._ladder and self._ladder[0][0] <= time.monotonic():
            _, number = self._ladder.pop(0)
            self._killed = True
            if number == signal.SIGKILL:
                child.kill()
            else:
                child.ask(number)

    def _end_all(self) -> None:
        """See to it that nothing of the run lives on, before anyone removes its home."""
        child = self._child
        if child is None:
            return
        is_clean = child.poll() is not None and child.returncode >= 0 and not self._killed
        child.kill()
        child.wait()
        if not is_clean:
            process.end_members(self._instance.run_id, 0.0)

    def _was_ended(self) -> bool:
        """Tell whether a signal ended the agent, from wherever, before it could tidy up."""
        status = self._child.returncode if self._child else 0
        return status is None or status < 0 or status > _SIGNALLED

    def _outcome(self, child: Child) -> Outcome:
        status = child.returncode if child.returncode >= 0 else 128 - child.returncode
        if self._expired:
            status = _EXPIRED
        elif self._ended_by is not None:
            status = 128 + self._ended_by
        elif self._inner is None and self._refusal is None:
            self._refusal = f"the sandbox ended with status {status} before the agent started"
        return Outcome(status, self._inner is not None, self._refusal, self._ended_by)

    def _to_agent(self, number: int) -> bool:
        """Send a signal to the agent itself: it sits in a session of its own."""
        if self._agent is None and self._inner is not None and self._child is not None:
            self._agent = process.find_inside(self._child.pid, self._inner)
        return self._agent is not None and process.send(self._agent, number)

    def _let_in(self) -> None:
        """Let the agent start, when its sandbox is proven and this job has the terminal."""
        is_due = self._is_proven and not self._is_let_in and self._ended_by is None
        if is_due and self._await_terminal():
            self._is_let_in = True
            self._control.let_go()

    def _await_terminal(self) -> bool:
        has_it = self._job.await_terminal()
        if not has_it and not self._signals.is_ending():
            self._begin_end(signal.SIGHUP)
        return has_it

    def _suspend(self) -> None:
        """The agent has stopped: stop as well, and wake it when the shell says so."""
        if self._stand_still():
            self._control.let_go()
            self._to_agent(signal.SIGWINCH)

    def _stand_still(self) -> bool:
        """Stop with all that runs in the sandbox until this job goes on, with its terminal.

        Whatever of it went on could read, from a terminal that it has open, what is typed at
        the shell meanwhile. The agent alone is not all, and its word for it not enough.

        Returns:
            Whether it goes on. Else the end has come while another job has the terminal.
        """
        stopped = self._freeze()
        self._job.stop()
        self._is_frozen = True
        if not self._await_terminal():
            return False
        self._is_frozen = False
        # The kernel tells only the job in front that the size has changed.
        self._relay.resize()
        for pid in reversed(stopped):
            process.send(pid, signal.SIGCONT)
        return True

    def _freeze(self) -> list[int]:
        if self._child is None or not self._to_agent(0) or self._agent is None:
            return []
        # A word that the agent has left there would wake it.
        self._control.take_back()
        return process.freeze(self._agent, self._child.pid, self._instance.run_id)

    def _obey_stop(self) -> None:
        """Stop when the terminal asked for it; an agent that is just starting comes first."""
        is_starting = self._is_let_in and self._inner is None
        if self._stop_asked and not is_starting:
            self._stop_asked = False
            self._stop_agent_and_self()

    def _watch_terminal(self) -> None:
        """Stop when another job has the terminal, though nobody said so: whoever waited is gone."""
        if self._inner is not None and self._ended_by is None and self._job.is_left_behind():
            self._stop_agent_and_self()

    def _stop_agent_and_self(self) -> None:
        """The terminal asks to stop: the agent does not see that, so stop it and then us."""
        if not self._to_agent(0) or self._agent is None:
            # Before it is let in, nothing that has been started touches the terminal.
            self._job.stop()
            return
        if self._mode == "job":
            # The agent's parent in the sandbox sees it stop, says so, and wakes it later.
            process.send_group(self._agent, signal.SIGSTOP)
            return
        self._stand_still()
