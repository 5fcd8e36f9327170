"""What homeroom runs outside of rooms must not be what a run has made."""

import os
import shutil
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import homeroom
from homeroom.errors import ToolError
from homeroom.policy import Policy


def refuse(programs: Iterable[Path], environ: Mapping[str, str], decided: Policy) -> None:
    """Refuse to start where a run may write to what is executed outside of its room.

    An activated ``.venv`` in the workspace is on PATH before the system's directories, and
    may hold homeroom itself, of which a part is loaded only after the agent has begun.

    Args:
        programs: The system's tools that will be started.
        environ: The caller's environment; git is found on its PATH.
        decided: What the run may write to.

    Raises:
        ToolError: An earlier run may have made one of them, or this one may change it.
    """
    git_program = shutil.which("git", path=environ.get("PATH", os.defpath))
    for path in (*programs, *([Path(git_program)] if git_program else [])):
        link = Path(os.path.realpath(path.parent), path.name)
        for at in (link, Path(os.path.realpath(path))):
            can_change = os.access(at, os.W_OK) or os.access(at.parent, os.W_OK)
            if can_change and decided.is_writable(at):
                raise ToolError(
                    f"{path.name} would be started from {at}, which runs may write to: one may "
                    "have put it there",
                    "take that directory off PATH, or remove the file from it, then try again",
                )
    for name in (os.path.dirname(homeroom.__file__), sys.executable, *sys.path):
        for at in (Path(os.path.abspath(name)), Path(os.path.realpath(name))):
            if os.path.exists(at) and decided.is_writable(at):
                raise ToolError(
                    f"homeroom itself is run from {at}, which runs may write to: one may change it",
                    "install homeroom outside of that directory, with pipx for one, or work in "
                    "another directory",
                )
