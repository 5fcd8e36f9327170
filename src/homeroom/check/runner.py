"""Running probes side by side, so that one that crashes or hangs takes nothing with it."""

import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Sequence

import msgspec

from homeroom import process
from homeroom.check.model import Finding, Probe, Result, Surroundings, skipped
from homeroom.errors import HomeroomError, TryAgainError

_BAD = ("fail", "broken")
# How long probes that were told to stop have for removing what they made.
_PATIENCE = 15.0


def run(
    probes: Sequence[Probe],
    surroundings: Surroundings,
    tell: Callable[[Result], None] | None = None,
) -> list[Result]:
    """Answer every probe, each as soon as those that it needs are answered.

    Args:
        probes: What to ask.
        surroundings: What they look at.
        tell: Called with each result as it comes, in this thread.

    Returns:
        The results, in the probes' order.
    """
    asked = _Run(probes, surroundings, tell or (lambda _result: None))
    try:
        asked.to_the_end()
    except BaseException:
        asked.abandon()
        raise
    return [asked.results[probe.name] for probe in probes]


class _Run:
    """Probes on their way: those that wait, those that are asked, those that answered."""

    def __init__(
        self, probes: Sequence[Probe], surroundings: Surroundings, tell: Callable[[Result], None]
    ) -> None:
        self.results: dict[str, Result] = {}
        self._probes = probes
        self._surroundings = surroundings
        self._tell = tell
        self._waiting = list(probes)
        self._running: dict[str, tuple[Probe, float]] = {}
        self._threads: list[threading.Thread] = []
        self._answers: queue.Queue[Result] = queue.Queue()
        self._before = set(process.descendants(os.getpid()))

    def to_the_end(self) -> None:
        while self._waiting or self._running:
            if self._begin():
                continue
            for result in (*self._next(), *self._overdue()):
                # An answer that comes too late counts no more.
                if self._running.pop(result.probe.name, None) is not None:
                    self._take(result)

    def abandon(self) -> None:
        """Have the probes stop, and wait until they have removed what they made."""
        self._surroundings.stopping.set()
        for pid in set(process.descendants(os.getpid())) - self._before:
            process.send(pid, signal.SIGKILL)
        deadline = time.monotonic() + _PATIENCE
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _take(self, result: Result) -> None:
        self.results[result.probe.name] = result
        self._tell(result)

    def _begin(self) -> bool:
        """Ask the probes that need wait no more, or settle them; tells whether there was one."""
        ready = [probe for probe in self._waiting if self._is_ready(probe)]
        for probe in ready:
            self._waiting.remove(probe)
            culprit = self._blocker(probe)
            if culprit is None:
                self._ask(probe)
            else:
                why = skipped(f"{culprit} must be mended first")
                self._take(Result(probe, why, 0.0, blocked_by=culprit))
        return bool(ready)

    def _needed(self, probe: Probe) -> list[str]:
        return [
            other.name
            for other in self._probes
            if other is not probe and any(other.is_called(word) for word in probe.needs)
        ]

    def _is_ready(self, probe: Probe) -> bool:
        return all(name in self.results for name in self._needed(probe))

    def _blocker(self, probe: Probe) -> str | None:
        for name in self._needed(probe):
            result = self.results[name]
            if result.finding.verdict in _BAD:
                return name
            if result.blocked_by is not None:
                return result.blocked_by
        return None

    def _ask(self, probe: Probe) -> None:
        begin = time.monotonic()

        def work() -> None:
            finding = _look(probe, self._surroundings)
            self._answers.put(Result(probe, finding, time.monotonic() - begin))

        # A daemon: a probe that hangs must not keep the program from ending.
        thread = threading.Thread(target=work, name=probe.name, daemon=True)
        self._running[probe.name] = (probe, begin)
        self._threads.append(thread)
        thread.start()

    def _next(self) -> list[Result]:
        """Wait for an answer, but no longer than until the first probe is overdue."""
        first = min(begin + probe.limit for probe, begin in self._running.values())
        try:
            return [self._answers.get(timeout=max(0.0, first - time.monotonic()))]
        except queue.Empty:
            return []

    def _overdue(self) -> list[Result]:
        now = time.monotonic()
        return [
            Result(probe, _silent(probe), now - begin)
            for probe, begin in self._running.values()
            if now >= begin + probe.limit
        ]


def _look(probe: Probe, surroundings: Surroundings) -> Finding:
    try:
        return probe.look(surroundings)
    except TryAgainError as error:
        return Finding("broken", error.message, error.hint)
    except HomeroomError as error:
        return Finding("fail", error.message, error.hint)
    except Exception as error:  # noqa: BLE001
        return Finding("broken", f"the probe crashed: {type(error).__name__}: {error}")


def _silent(probe: Probe) -> Finding:
    return Finding("broken", f"the probe gave no answer within {probe.limit:g} seconds")


def fix(results: Sequence[Result], surroundings: Surroundings) -> list[Result]:
    """Mend what can be mended safely, and ask again: the same probes, and those they kept back.

    Args:
        results: Of a run.
        surroundings: What the probes look at.

    Returns:
        The results; those mended say what was done and what is seen now.
    """
    done = {
        result.probe.name: _mend(result.probe, surroundings)
        for result in results
        if result.finding.verdict in ("fail", "warn") and result.probe.fix is not None
    }
    again = [
        result.probe for result in results if result.probe.name in done or result.blocked_by in done
    ]
    answered = {result.probe.name: result for result in run(again, surroundings)}
    return [
        msgspec.structs.replace(
            answered.get(result.probe.name, result), fixed=done.get(result.probe.name)
        )
        for result in results
    ]


def _mend(probe: Probe, surroundings: Surroundings) -> str:
    if probe.fix is None:
        return "nothing"
    try:
        return probe.fix(surroundings)
    except (HomeroomError, OSError) as error:
        return f"could not be mended: {error}"


def exit_status(results: Sequence[Result]) -> int:
    """Give 0 when nothing failed, 1 when something did, 2 when something is not known."""
    verdicts = {result.finding.verdict for result in results}
    if "fail" in verdicts:
        return 1
    return 2 if "broken" in verdicts else 0
