"""Doing something as another user: for the noxfile, whose sessions root may start."""

import os
import pwd
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TypedDict


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
