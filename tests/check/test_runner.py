"""Probes run side by side: one that crashes or hangs is itself reported, and no other."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from homeroom.check import runner
from homeroom.check.model import Finding, Probe, Result, Surroundings, fail, ok, skipped, warn
from homeroom.errors import ToolError, TryAgainError
from homeroom.paths import locate


@pytest.fixture
def around(tmp_path: Path) -> Surroundings:
    environ = {"HOME": str(tmp_path), "HOMEROOM_HOME": str(tmp_path / "r")}
    return Surroundings(environ, locate(environ))


def probe(
    name: str, look: Callable[[Surroundings], Finding] = lambda _: ok("well"), **more: object
) -> Probe:
    return Probe(name, name, look, **more)  # type: ignore[arg-type]


def crash(_around: Surroundings) -> Finding:
    raise RuntimeError("oh")


def refuse(_around: Surroundings) -> Finding:
    raise ToolError("it is not there", "install it")


def verdicts(results: list[Result]) -> list[str]:
    return [result.finding.verdict for result in results]


def test_a_probe_that_crashes_is_reported_and_no_other(around: Surroundings) -> None:
    results = runner.run([probe("a"), probe("b", crash), probe("c")], around)
    assert verdicts(results) == ["ok", "broken", "ok"]
    assert results[1].finding.seen == "the probe crashed: RuntimeError: oh"
    assert runner.exit_status(results) == 2


def test_a_probe_that_hangs_is_reported_and_no_other(around: Surroundings) -> None:
    released = threading.Event()

    def hang(_around: Surroundings) -> Finding:
        released.wait()
        return ok("too late")

    begin = time.monotonic()
    results = runner.run([probe("a"), probe("b", hang, limit=0.3), probe("c")], around)
    assert time.monotonic() - begin < 5
    released.set()
    assert verdicts(results) == ["ok", "broken", "ok"]
    assert results[1].finding.seen == "the probe gave no answer within 0.3 seconds"
    assert runner.exit_status(results) == 2


def test_what_homeroom_refuses_is_a_failure_with_its_hint(around: Surroundings) -> None:
    [result] = runner.run([probe("a", refuse)], around)
    assert result.finding == Finding("fail", "it is not there", "install it")


def test_what_could_not_be_asked_is_not_known(around: Surroundings) -> None:
    def unreachable(_around: Surroundings) -> Finding:
        raise TryAgainError("nobody answers")

    assert verdicts(runner.run([probe("a", unreachable)], around)) == ["broken"]


@pytest.mark.parametrize(
    ("given", "status"),
    [
        (["ok", "skipped", "warn"], 0),
        (["ok", "fail"], 1),
        (["broken", "warn"], 2),
        (["broken", "fail"], 1),
        ([], 0),
    ],
)
def test_the_exit_status_is_the_worst_that_is_known(given: list[str], status: int) -> None:
    results = [Result(probe("a"), Finding(verdict, ""), 0.0) for verdict in given]  # type: ignore[arg-type]
    assert runner.exit_status(results) == status


def test_probes_run_at_the_same_time(around: Surroundings) -> None:
    barrier = threading.Barrier(20)

    def meet(_around: Surroundings) -> Finding:
        barrier.wait(timeout=10)
        return ok("met")

    results = runner.run([probe(f"a.{number}", meet) for number in range(20)], around)
    assert set(verdicts(results)) == {"ok"}


def test_a_probe_waits_for_those_that_it_needs(around: Surroundings) -> None:
    told: list[str] = []
    probes = [probe("c", needs=("b",)), probe("b", needs=("a",)), probe("a.x"), probe("a.y")]
    results = runner.run(probes, around, lambda result: told.append(result.probe.name))
    assert [result.probe.name for result in results] == ["c", "b", "a.x", "a.y"]
    assert sorted(told[:2]) == ["a.x", "a.y"]
    assert told[2:] == ["b", "c"]


def test_what_is_wrong_is_told_once(around: Surroundings) -> None:
    """What waits for the probe that failed is skipped, and so is what waits for that."""
    probes = [
        probe("a", lambda _: fail("broken")),
        probe("b", crash, needs=("a",)),
        probe("c", crash, needs=("b",)),
        probe("d", needs=("not asked",)),
    ]
    results = runner.run(probes, around)
    assert verdicts(results) == ["fail", "skipped", "skipped", "ok"]
    assert [result.blocked_by for result in results] == [None, "a", "a", None]
    assert results[2].finding.seen == "a must be mended first"


@pytest.mark.parametrize("needed", [warn("so so"), skipped("nothing there")], ids=str)
def test_a_warning_keeps_nothing_back(around: Surroundings, needed: Finding) -> None:
    results = runner.run([probe("a", lambda _: needed), probe("b", needs=("a",))], around)
    assert verdicts(results)[1] == "ok"


def test_what_was_mended_is_looked_at_again_with_what_it_kept_back(around: Surroundings) -> None:
    mended: list[str] = []

    def mend(_around: Surroundings) -> str:
        mended.append("a")
        return "mended a"

    def look(_around: Surroundings) -> Finding:
        return ok("well now") if mended else fail("broken")

    probes = [probe("a", look, fix=mend), probe("b", needs=("a",)), probe("c", crash)]
    results = runner.fix(runner.run(probes, around), around)
    assert verdicts(results) == ["ok", "ok", "broken"]
    assert [result.fixed for result in results] == ["mended a", None, None]


def test_what_cannot_be_mended_says_so(around: Surroundings) -> None:
    def mend(_around: Surroundings) -> str:
        raise PermissionError("no")

    results = runner.run([probe("a", lambda _: warn("hm"), fix=mend)], around)
    [result] = runner.fix(results, around)
    assert result.finding.verdict == "warn"
    assert result.fixed == "could not be mended: no"


def test_an_interrupt_has_probes_stop_and_clean_up(around: Surroundings) -> None:
    removed: list[str] = []

    def hold(around: Surroundings) -> Finding:
        try:
            around.stopping.wait(30)
        finally:
            removed.append("scratch")
        return ok("")

    def interrupt(_result: Result) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        runner.run([probe("a", hold), probe("b")], around, interrupt)
    assert removed == ["scratch"]
