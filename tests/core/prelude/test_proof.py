"""The prelude: it refuses a sandbox that is not shut, and hands everything on as it was.

It runs here in a bubblewrap of the test's own, so that each wall can be left out.
"""

import os
import sys

import pytest

from tests.core.prelude.scene import (
    HEADER,
    LATE_PROXY,
    LOOPBACK,
    Stage,
    refused,
    started,
    with_devices,
)


@pytest.mark.parametrize("mode", ["exec", "job"])
def test_in_a_sandbox_that_is_shut_the_agent_starts(stage: Stage, mode: str) -> None:
    seen = started(stage.run(mode, stdin="asked"))
    assert seen["stdin"] == "asked"
    assert bytes.fromhex(seen["directory"]) == os.fsencode(stage.base / "work")


@pytest.mark.parametrize(
    "content", [b"s", b"\n", b" \n", b"\\\n", b"\0x", b"\xff\xfe", b"x" * 100_000]
)
def test_a_canary_that_can_be_read_is_a_refusal(stage: Stage, content: bytes) -> None:
    (stage.base / "denied/canary").write_bytes(content)
    stage.without_wall("--tmpfs", str(stage.base / "denied"))
    refused(stage.run(), f"it can read {stage.base}/denied/canary")


def test_any_other_secret_that_can_be_read_is_a_refusal(stage: Stage) -> None:
    (stage.base / "id $(touch x) rsa").write_text("secret")
    stage.lists["unreadable"].append(os.fsencode(stage.base / "id $(touch x) rsa"))
    refused(stage.run(), "it can read")


@pytest.mark.parametrize("at", [0, 1])
def test_a_place_that_can_be_written_is_a_refusal_and_stays_clean(stage: Stage, at: int) -> None:
    probe = stage.base / "control/probe"
    stage.lists["unwritable"].insert(at, os.fsencode(probe))
    refused(stage.run(), f"it can write {probe}")
    assert not probe.exists()


@pytest.mark.parametrize(
    "name", ["unreadable", "unwritable", "unset", "environment", "workspace", "argv"]
)
def test_a_list_that_is_missing_is_a_refusal(stage: Stage, name: str) -> None:
    stage.missing = name
    refused(stage.run(), f'the list "{name}" cannot be read')


@pytest.mark.parametrize(
    ("name", "why"),
    [("unreadable", "there is no canary to try"), ("unwritable", "no place to try a write at")],
)
def test_a_proof_of_nothing_is_a_refusal(stage: Stage, name: str, why: str) -> None:
    stage.lists[name] = []
    refused(stage.run(), why)


def test_loopback_alone_is_no_network(stage: Stage) -> None:
    with_devices(stage, f"{HEADER}{LOOPBACK}\n")
    assert started(stage.run())


@pytest.mark.parametrize("name", ["eth0", "wlp3s0", "tun0", "lo0", "lo2", "xlo", "l", "docker0"])
def test_any_other_network_device_is_a_refusal(stage: Stage, name: str) -> None:
    device = LOOPBACK.replace("    lo:", f"{name:>6}:")
    for lines in ([LOOPBACK, device], [device, LOOPBACK], [device]):
        with_devices(stage, HEADER + "\n".join(lines) + "\n")
        refused(stage.run(), f"it has a network device: {name}")


def test_devices_that_cannot_be_seen_are_a_refusal(stage: Stage) -> None:
    with_devices(stage, None)
    refused(stage.run(), "its network devices cannot be seen")


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:3128", "http://localhost:3128/", "http://user:pass@localhost:3128"]
)
def test_the_agent_waits_for_a_proxy_that_is_late(stage: Stage, url: str) -> None:
    stage.environ["HTTP_PROXY"] = url
    stage.before = [sys.executable, "-I", "-S", "-c", LATE_PROXY]
    assert started(stage.run())["connects"] is True


def test_a_proxy_that_never_answers_is_a_refusal(stage: Stage) -> None:
    # Ten seconds pass in no time.
    (stage.base / "bin").mkdir()
    (stage.base / "bin/sleep").write_text("#!/bin/sh\n")
    (stage.base / "bin/sleep").chmod(0o755)
    stage.environ |= {
        "HTTP_PROXY": "http://localhost:3128",
        "PATH": f"{stage.base}/bin:/usr/bin:/bin",
    }
    refused(stage.run(), "its proxy does not answer on port 3128")


def test_a_workspace_that_has_become_a_link_is_a_refusal(stage: Stage) -> None:
    (stage.base / "work").rmdir()
    (stage.base / "elsewhere").mkdir()
    (stage.base / "work").symlink_to("elsewhere")
    refused(stage.run(), f"its workspace has become a link to {stage.base}/elsewhere")
