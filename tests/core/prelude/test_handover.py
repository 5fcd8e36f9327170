"""The prelude: it refuses a sandbox that is not shut, and hands everything on as it was.

It runs here in a bubblewrap of the test's own, so that each wall can be left out.
"""

import os

import pytest

from tests.core.prelude.scene import COMMON, HOSTILE, Stage, refused, started, variables


@pytest.mark.parametrize("mode", ["exec", "job"])
def test_every_argument_arrives_as_it_was(stage: Stage, mode: str) -> None:
    stage.lists["argv"] = stage.agent(*HOSTILE)
    seen = started(stage.run(mode))
    assert [bytes.fromhex(word) for word in seen["argv"]] == HOSTILE


@pytest.mark.parametrize("mode", ["exec", "job"])
def test_every_variable_arrives_as_it_was(stage: Stage, mode: str) -> None:
    given_values = {b"V%d" % number: value for number, value in enumerate(HOSTILE)}
    given_values |= {name.encode(): b"value of " + name.encode() for name in COMMON}
    given_values |= {b"PATH": b"/usr/bin:/bin", b"HOME": b"/room", b"TMPDIR": b"/room/tmp"}
    stage.lists["environment"] = [name + b"=" + value for name, value in given_values.items()]
    found = variables(started(stage.run(mode)))
    assert {name: found.get(name) for name in given_values} == given_values
    # LC_CTYPE is this agent's own: Python sets it where there is no locale.
    assert set(found) - set(given_values) <= {b"PWD", b"SHLVL", b"_", b"LC_CTYPE"}


def test_a_value_of_the_sandboxs_own_is_replaced_or_removed(stage: Stage) -> None:
    stage.environ |= {"TMPDIR": "/sandbox", "NO_PROXY": "localhost", "KEPT": "yes"}
    stage.lists["environment"].append(b"TMPDIR=/room")
    stage.lists["unset"] = [b"NO_PROXY", b"NEVER_THERE"]
    found = variables(started(stage.run()))
    assert found[b"TMPDIR"] == b"/room"
    assert b"NO_PROXY" not in found
    assert found[b"KEPT"] == b"yes"


@pytest.mark.parametrize(
    "name", [b"a b", b"-rf", b"new\nline", b"$HOME", b"'\"", b"\xc3\xa4", b"x" * 200]
)
def test_the_agent_starts_in_its_workspace(stage: Stage, name: bytes) -> None:
    workspace = os.path.join(os.fsencode(stage.base), name)
    os.mkdir(workspace)
    stage.lists["workspace"] = [workspace]
    seen = started(stage.run())
    assert bytes.fromhex(seen["directory"]) == workspace
    assert variables(seen)[b"PWD"] == workspace
    assert b"OLDPWD" not in variables(seen)


def test_a_workspace_that_cannot_be_entered_is_a_refusal(stage: Stage) -> None:
    stage.lists["workspace"] = [os.fsencode(stage.base / "gone")]
    refused(stage.run(), "it cannot enter")


@pytest.mark.parametrize("mode", ["exec", "job"])
@pytest.mark.parametrize(
    ("code", "status"), [("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 143), ("kill -9 $$", 137)]
)
def test_the_agents_status_is_returned(stage: Stage, mode: str, code: str, status: int) -> None:
    stage.lists["argv"] = [b"/bin/sh", b"-c", code.encode()]
    ended = stage.run(mode)
    assert ended.status == status
    assert ended.said.startswith("started ")


@pytest.mark.parametrize("mode", ["exec", "job"])
def test_an_agent_that_cannot_be_executed_ends_as_in_a_shell(stage: Stage, mode: str) -> None:
    stage.lists["argv"] = [b"/nothing/there"]
    assert stage.run(mode).status == 127
    (stage.base / "work/agent").write_text("#!/bin/sh\n")
    stage.lists["argv"] = [os.fsencode(stage.base / "work/agent")]
    assert stage.run(mode).status == 126


@pytest.mark.parametrize("mode", ["exec", "job"])
def test_nothing_is_started_and_nothing_waits_when_the_supervisor_is_dead(
    stage: Stage, mode: str
) -> None:
    stage.is_forsaken = True
    ended = stage.run(mode)
    assert ended.status == 1
    assert ended.agent is None
    assert ended.stderr == ""
