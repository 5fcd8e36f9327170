"""How homeroom refuses: its words and its exit codes."""

import os
from pathlib import Path
from subprocess import CompletedProcess

from tests.conftest import PrivateHome
from tests.support.runs import Journal

IS_ROOT = os.geteuid() == 0
WORKSPACE, TOOL, STATE, STORAGE, CREDENTIAL, CONFIG = 66, 69, 73, 74, 76, 78


def assert_refused(
    done: CompletedProcess[str], status: int, *words: str, asked: Journal | None = None
) -> None:
    assert (done.returncode, done.stdout) == (status, ""), done.stderr
    assert "homeroom: error: " in done.stderr
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr
    if asked is not None:
        assert asked.requests() == []


def make_private(path: Path) -> Path:
    """Make a directory and its parents 0700: with ``parents``, ``mkdir`` obeys the umask."""
    if not path.is_dir():
        make_private(path.parent)
        path.mkdir(mode=0o700)
    return path


def config_file(home: PrivateHome) -> Path:
    path = home.root / "config" / "config.toml"
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path
