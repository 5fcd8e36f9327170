"""A sandbox that is not shut is refused, and the agent never starts in it."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from homeroom.toolchain.store import Toolchain
from tests.e2e.runner import Runner, with_tool
from tests.support import patched
from tests.support.runs import Journal, records

REFUSED = 77


def assert_refused(done: object, runner: Runner, journal: Journal, reason: str) -> None:
    """Fail unless the run was refused before its agent could do anything."""
    status, stdout, stderr = (getattr(done, name) for name in ("returncode", "stdout", "stderr"))
    assert (status, stdout) == (REFUSED, ""), stderr
    assert "the agent was not started" in stderr
    assert reason in stderr
    assert "hint: " in stderr
    assert journal.requests() == []
    [record] = records(runner.home.root)
    assert record["state"] == "failed"
    assert reason in record["note"]


REASONS = {
    "reading is free": "it can read ",
    "one secret is free": ".ssh/id_ed25519",
    "writing is free": "it can write ",
    "the toolchain is writable": "it can write ",
    "settings are empty": "the sandbox ended with status 1 before the agent started",
    "settings are damaged": "the sandbox ended with status 1 before the agent started",
    "settings are missing": "the sandbox ended with status 1 before the agent started",
}


def test_every_sabotage_is_tried() -> None:
    assert REASONS.keys() == set(patched.SABOTAGE)


@pytest.mark.parametrize("sabotage", REASONS)
def test_settings_that_were_changed_are_noticed(
    runner: Runner, journal: Journal, sabotage: str
) -> None:
    key = runner.home.home / ".ssh" / "id_ed25519"
    key.parent.mkdir()
    key.write_text("a private key")
    done = runner.start_patched("spawn", sabotage, journal, "-p", "hi")
    assert_refused(done, runner, journal, REASONS[sabotage])


FAKE_BWRAP = """#!{python}
# Takes bwrap's place and does what it is told, but for the isolation.
import os, sys
words = sys.argv[1:]
if "--version" in words:
    os.execv("{bwrap}", sys.argv)
{change}
os.execv("{bwrap}", ["bwrap", *words])
"""

NOTHING = """
for at, word in enumerate(words):
    if word == "--setenv":
        os.environ[words[at + 1]] = words[at + 2]
command = words[words.index("--") + 1:]
os.execvp(command[0], command)
"""

OPEN_NETWORK = 'words = [word for word in words if word != "--unshare-net"]'

# An empty directory is put over each place whose content is denied.
NO_TMPFS = """
while "--tmpfs" in words:
    at = words.index("--tmpfs")
    del words[at:at + 2]
"""


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (NOTHING, "it can read "),
        (OPEN_NETWORK, "it has a network device"),
        (NO_TMPFS, "it can read "),
        ("sys.exit(0)", "the sandbox ended with status 0 before the agent started"),
        ("sys.exit(3)", "the sandbox ended with status 3 before the agent started"),
        ("os.kill(os.getpid(), 9)", "before the agent started"),
    ],
    ids=["no isolation", "open network", "no denials", "does nothing", "fails", "dies"],
)
def test_a_bwrap_that_does_not_isolate_is_noticed(
    runner: Runner, journal: Journal, tmp_path: Path, change: str, reason: str
) -> None:
    bwrap = shutil.which("bwrap", path=runner.home.env["PATH"])
    assert bwrap
    fake = tmp_path / "bin" / "bwrap"
    fake.parent.mkdir()
    fake.write_text(FAKE_BWRAP.format(python=sys.executable, bwrap=bwrap, change=change))
    fake.chmod(0o755)
    path = os.pathsep.join([str(fake.parent), runner.home.env["PATH"]])
    done = runner.start(journal, "-p", "hi", env=runner.home.env | {"PATH": path})
    assert_refused(done, runner, journal, reason)


FAKE_SRT = """
const { spawnSync } = require('node:child_process');
const words = process.argv.slice(process.argv.indexOf('--') + 1);
const { status } = spawnSync(words[0], words.slice(1), { stdio: 'inherit' });
process.exit(status ?? 1);
"""


def test_an_srt_that_only_runs_the_command_is_noticed(
    runner: Runner, journal: Journal, toolchain: Toolchain, tmp_path: Path
) -> None:
    script = tmp_path / "srt.js"
    script.write_text(FAKE_SRT)
    env = runner.home.env | {"HOMEROOM_TOOLCHAIN": str(with_tool(toolchain, tmp_path, srt=script))}
    done = runner.start(journal, "-p", "hi", env=env)
    assert_refused(done, runner, journal, "it can read ")
