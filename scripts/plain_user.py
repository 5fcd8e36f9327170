"""Doing something as another user: for the noxfile, whose sessions root may start."""

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import TypedDict


def git_files(*patterns: str) -> list[str]:
    """List the files of the repository in the working directory.

    Args:
        patterns: Which; none for all.

    Returns:
        Their paths. New ones count before they are added, so that a check sees them when
        they are made.
    """
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *patterns],
        check=True,
        capture_output=True,
        text=True,
    )
    return sorted(name for name in set(listed.stdout.split("\0")) if name and os.path.lexists(name))


class Identity(TypedDict, total=False):
    """Arguments of ``subprocess`` that make a process another user's."""

    user: int
    group: int
    extra_groups: list[int]
    umask: int


def identity(account: pwd.struct_passwd) -> Identity:
    """Tell how to become an account; root alone may, everybody else is only themselves."""
    if os.geteuid() != 0:
        return Identity()
    return Identity(user=account.pw_uid, group=account.pw_gid, extra_groups=[], umask=0o022)


def copy_checkout(names: Iterable[str], target: Path, account: pwd.struct_passwd) -> None:
    """Copy files of the working directory for an account, in place of what is there."""
    shutil.rmtree(target, ignore_errors=True)
    for name in names:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(name, target / name, follow_symlinks=False)
    for path in (target, *target.rglob("*")):
        os.chown(path, account.pw_uid, account.pw_gid, follow_symlinks=False)
