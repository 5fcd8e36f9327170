"""The tests' own file systems: where root may not mount, CI fails and a person's machine skips."""

import subprocess
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.toolchain.conftest import mounted


@pytest.mark.parametrize(
    ("ci", "outcome"),
    [("true", pytest.fail.Exception), ("", pytest.skip.Exception)],
    ids=["in CI", "elsewhere"],
)
def test_a_mount_that_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ci: str, outcome: type[BaseException]
) -> None:
    monkeypatch.setenv("CI", ci)
    refused = CompletedProcess([], 32, "", "mount: permission denied")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: refused)
    with (
        pytest.raises(outcome, match="this root may not mount: mount: permission denied"),
        mounted(tmp_path, "ro"),
    ):
        pass
