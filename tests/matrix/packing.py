"""Packed copies of the pinned srt, some of them broken on purpose."""

import json
import shutil
import tarfile
from pathlib import Path

from homeroom.toolchain.store import Toolchain

# Where srt makes its list of what may not be read: the broken one leaves out the first.
_FILE = "dist/sandbox/path-entries.js"
_WHOLE = "literalDenyOnly: splitPathEntries(denyRead).marked"
_BROKEN = "literalDenyOnly: splitPathEntries(denyRead.slice(1)).marked"


def pack(toolchain: Toolchain, target: Path, version: str, *, broken: bool = False) -> Path:
    """Pack a copy of the pinned srt under another version, as ``npm pack`` would.

    Args:
        toolchain: Where the pinned one is.
        target: An existing directory.
        version: What the copy calls itself.
        broken: Whether it shall ignore one deny.
    """
    source = toolchain.tools["srt"].path.parents[1]
    copy = target / f"srt-{version}"
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("node_modules"))
    manifest = json.loads((copy / "package.json").read_text(encoding="utf-8"))
    (copy / "package.json").write_text(json.dumps(manifest | {"version": version}))
    if broken:
        code = (copy / _FILE).read_text(encoding="utf-8")
        assert code.count(_WHOLE) == 1, "srt makes its list elsewhere now"
        (copy / _FILE).write_text(code.replace(_WHOLE, _BROKEN), encoding="utf-8")
    packed = target / f"srt-{version}.tgz"
    with tarfile.open(packed, "w:gz") as archive:
        archive.add(copy, "package")
    return packed
