"""Running probes side by side, so that one that crashes or hangs takes nothing with it."""

import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from homeroom.check.model import Finding, Probe, Result, Surroundings, skipped
from homeroom.errors import HomeroomError

# Probes wait for other programs, or for an observation that several of them share.
_AT_ONCE = 64


def run(
    probes: Sequence[Probe],
    surroundings: Surroundings,
    tell: Callable[[Result], None] | None = None,
) -> list[Result]:
    """Answer every probe.

    Args:
        probes: What to ask.
        surroundings: What they look at.
        tell: Called with each result as it comes, in this thread.

    Returns:
        The results, in the probes' order.
    """
    waiting = list(enumerate(probes))
    answers: queue.Queue[tuple[int, Result]] = queue.Queue()
    running: dict[int, tuple[Probe, float]] = {}
    results: dict[int, Result] = {}
    while waiting or running:
        while waiting and len(running) < _AT_ONCE:
            at, probe = waiting.pop(0)
            running[at] = (probe, time.monotonic())
            _start(at, probe, surroundings, answers)
        for at, result in [*_next(answers, running), *_overdue(running)]:
            if running.pop(at, None) is not None:
                results[at] = result
                if tell is not None:
                    tell(result)
    return [results[at] for at in range(len(probes))]


def _start(
    at: int, probe: Probe, surroundings: Surroundings, answers: "queue.Queue[tuple[int, Result]]"
) -> None:
    def work() -> None:
        begin = time.monotonic()
        finding = _look(probe, surroundings)
        answers.put((at, Result(probe, finding, time.monotonic() - begin)))

    # A daemon: a probe that hangs must not keep the program from ending.
    threading.Thread(target=work, name=probe.name, daemon=True).start()


def _look(probe: Probe, surroundings: Surroundings) -> Finding:
    try:
        if probe.needs_toolchain and surroundings.toolchain is None:
            return skipped("no toolchain is installed")
        return probe.look(surroundings)
    except HomeroomError as error:
        return Finding("fail", error.message, error.hint)
    except Exception as error:  # noqa: BLE001
        return Finding("broken", f"the probe crashed: {type(error).__name__}: {error}")


def _next(
    answers: "queue.Queue[tuple[int, Result]]", running: dict[int, tuple[Probe, float]]
) -> list[tuple[int, Result]]:
    """Wait for an answer, but no longer than until the first probe is overdue."""
    first = min((begin + probe.limit for probe, begin in running.values()), default=0.0)
    try:
        return [answers.get(timeout=max(0.0, first - time.monotonic()))]
    except queue.Empty:
        return []


def _overdue(running: dict[int, tuple[Probe, float]]) -> list[tuple[int, Result]]:
    now = time.monotonic()
    return [
        (at, Result(probe, _silent(probe), now - begin))
        for at, (probe, begin) in running.items()
        if now >= begin + probe.limit
    ]


def _silent(probe: Probe) -> Finding:
    return Finding("broken", f"the probe gave no answer within {probe.limit:.0f} seconds")


def fix(results: Sequence[Result], surroundings: Surroundings) -> list[Result]:
    """Mend what can be mended safely, and look again.

    Args:
        results: Of a run.
        surroundings: What the probes look at.

    Returns:
        The results; those mended say what was done and what is seen now.
    """
    mended: list[Result] = []
    for result in results:
        if result.finding.verdict not in ("fail", "warn") or result.probe.fix is None:
            mended.append(result)
            continue
        try:
            done = result.probe.fix(surroundings)
        except (HomeroomError, OSError) as error:
            mended.append(replace(result, fixed=f"could not be mended: {error}"))
            continue
        begin = time.monotonic()
        finding = _look(result.probe, surroundings)
        mended.append(Result(result.probe, finding, time.monotonic() - begin, done))
    return mended


def exit_status(results: Sequence[Result]) -> int:
    """Give 0 when nothing failed, 1 when something did, 2 when something is not known."""
    verdicts = {result.finding.verdict for result in results}
    if "fail" in verdicts:
        return 1
    return 2 if "broken" in verdicts else 0
