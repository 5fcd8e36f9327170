"""Toolchains that are made for a test: of stubs, or of an installed one with another agent."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from homeroom.toolchain.data import LOCK_DIR, lock_hash
from homeroom.toolchain.host import platform_key
from homeroom.toolchain.pins import load
from homeroom.toolchain.store import MARK, Tool, Toolchain, encode_mark, layout


def stub_toolchain(root: Path, *more: str) -> Path:
    """Make a toolchain in which each tool is a program that does nothing.

    It is enough for a plan, which looks at the mark alone.

    Args:
        root: Where; nothing is there yet.
        more: Tools that are not pinned, of an adapter that is still to come.

    Returns:
        The root, for ``HOMEROOM_TOOLCHAIN``.
    """
    pinned = layout(root, load(LOCK_DIR)).tools
    extra = {name: Tool(name, "0.0.0", root / "more" / name, "") for name in more}
    tools = {**extra, **pinned}
    for tool in tools.values():
        tool.path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        tool.path.write_text("#!/bin/sh\n")
        tool.path.chmod(0o755)
    root.chmod(0o755)
    _mark(root, tools)
    return root


def with_tools(root: Path, base: Toolchain, others: Mapping[str, Tool]) -> Path:
    """Make a toolchain that is an installed one but for some tools.

    homeroom is told of it by ``HOMEROOM_TOOLCHAIN`` alone, and does with it all that it
    does with the pinned one: nothing in it is switched off for the sake of a test.

    Args:
        root: Where; a directory that holds the other tools already.
        base: The installed one; its files are linked to, not copied, where that works.
        others: The other tools by name, their paths below the root. Each takes the place
            of the pinned one of its name, or stands beside them.

    Returns:
        The root, for ``HOMEROOM_TOOLCHAIN``.
    """
    kept = {name: tool for name, tool in base.tools.items() if name not in others}
    replaced = {str(tool.path) for name, tool in base.tools.items() if name in others}
    for top in {tool.path.relative_to(base.root).parts[0] for tool in kept.values()}:
        shutil.copytree(
            base.root / top,
            root / top,
            symlinks=True,
            ignore=lambda parent, names: {
                name for name in names if os.path.join(parent, name) in replaced
            },
            copy_function=_link,
            dirs_exist_ok=True,
        )
    moved = {
        name: Tool(name, tool.version, root / tool.path.relative_to(base.root), tool.hash)
        for name, tool in kept.items()
    }
    root.chmod(0o755)
    _mark(root, {**moved, **others})
    return root


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _mark(root: Path, tools: Mapping[str, Tool]) -> None:
    # The hash of the pins, which decides whether homeroom takes it, is that of homeroom's own.
    content = encode_mark(Toolchain(root, lock_hash(), tools), platform_key())
    (root / MARK).write_bytes(content)
