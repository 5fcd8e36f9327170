"""Probes of the operating system."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from homeroom import certificates, proxy
from homeroom.check.model import Finding, Probe, Surroundings, fail, ok, skipped, warn
from homeroom.sandbox.srt import find_programs
from homeroom.toolchain.system import check_system_tools

_APPARMOR = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"
_TIMEOUT = 10.0
_LEAST_BYTES = 200 * 1024 * 1024
_LEAST_INODES = 10_000
# The day this was written: a clock that shows an earlier one is wrong.
_WRITTEN = 1_796_000_000


def _tools(around: Surroundings) -> Finding:
    tools = check_system_tools(around.environ)
    _, missing = find_programs(around.environ)
    if missing:
        return fail(
            f"{' and '.join(missing)} cannot be found, which srt calls",
            "see docs/how-to/install-system-tools.md",
        )
    if not tools:
        return skipped("macOS brings its own sandbox")
    return ok(", ".join(f"{tool.name} {tool.version}" for tool in tools.values()))


def _namespaces(around: Surroundings) -> Finding:
    if sys.platform != "linux":
        return skipped("macOS has none and needs none")
    bwrap = around.program("bwrap")
    if bwrap is None:
        return fail("bubblewrap is not installed", "homeroom check --only system.tools")
    result = subprocess.run(
        [
            bwrap,
            "--unshare-all",
            "--ro-bind",
            "/",
            "/",
            "--proc",
            "/proc",
            "--",
            "/bin/sh",
            "-c",
            ":",
        ],
        check=False,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_TIMEOUT,
    )
    if result.returncode == 0:
        return ok("bubblewrap can make user, pid and network namespaces")
    said = (result.stderr.strip().splitlines() or ["it said nothing"])[-1]
    return fail(f"bubblewrap cannot make namespaces: {said}", _namespace_cure(around))


def _namespace_cure(around: Surroundings) -> str:
    """Look for what forbids it: the kernel's own word is EPERM for all of them."""
    if _read(around.machine(_APPARMOR)) == "1":
        return (
            "AppArmor restricts unprivileged user namespaces (Ubuntu 23.10 and newer): "
            "see docs/how-to/sandbox-refused.md"
        )
    if _read(around.machine("/proc/sys/user/max_user_namespaces")) == "0":
        return "sudo sysctl -w user.max_user_namespaces=15000"
    if _read(around.machine("/proc/sys/kernel/unprivileged_userns_clone")) == "0":
        return "sudo sysctl -w kernel.unprivileged_userns_clone=1"
    return "see docs/how-to/sandbox-refused.md"


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None


def _git(around: Surroundings) -> Finding:
    return _optional(around, "git", "a commit in a room takes your name from it")


def _tmux(around: Surroundings) -> Finding:
    return _optional(around, "tmux", "the onboarding probe drives a terminal with it")


def _optional(around: Surroundings, name: str, why: str) -> Finding:
    found = around.program(name)
    if found is None:
        return warn(f"{name} is not installed: {why}", "see docs/how-to/install-system-tools.md")
    return ok(found)


def _disk(around: Surroundings) -> Finding:
    seen: list[str] = []
    for path in (around.paths.state, around.paths.data, around.paths.temp):
        place = _existing(path)
        status = os.statvfs(place)
        free = status.f_bavail * status.f_frsize
        if free < _LEAST_BYTES:
            return fail(
                f"{place} has only {free // 1_000_000} MB left", "see docs/how-to/disk-full.md"
            )
        if status.f_files and status.f_favail < _LEAST_INODES:
            return fail(
                f"{place} has only {status.f_favail} inodes left", "see docs/how-to/disk-full.md"
            )
        seen.append(f"{free / 1e9:.1f} GB at {place}")
    return ok(", ".join(dict.fromkeys(seen)))


def _existing(path: Path) -> Path:
    while not path.exists():
        path = path.parent
    return path


def _clock(_around: Surroundings) -> Finding:
    now = time.time()
    if now < _WRITTEN:
        return fail(
            f"the clock says {time.strftime('%Y-%m-%d', time.gmtime(now))}, which is in the past",
            "set the clock: certificates and tokens are judged by it",
        )
    return ok(time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(now)))


def _filesystem(around: Surroundings) -> Finding:
    """Try what a room needs where rooms are made: modes, FIFOs, locks, atomic renames."""
    import fcntl

    place = _existing(around.paths.state)
    if not os.access(place, os.W_OK):
        return fail(f"{place} cannot be written to", "set HOMEROOM_HOME to a place that can")
    with tempfile.TemporaryDirectory(prefix=".homeroom-check-", dir=place) as scratch:
        try:
            os.mkfifo(f"{scratch}/fifo", 0o600)
            descriptor = os.open(f"{scratch}/file", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.replace(f"{scratch}/file", f"{scratch}/other")
        except OSError as error:
            return fail(f"{place}: {error.strerror}", "set HOMEROOM_HOME to a local file system")
        if os.stat(f"{scratch}/other").st_mode & 0o077:
            return fail(f"{place} does not keep file modes", "set HOMEROOM_HOME to one that does")
    return ok(f"{place} keeps modes, locks, FIFOs and atomic renames")


def _home(around: Surroundings) -> Finding:
    homes = around.homes
    for place in homes[:1]:
        if not place.is_dir():
            return fail(f"HOME is {place}, which is no directory", "set HOME to your own directory")
        if os.stat(place).st_uid != os.geteuid():
            return warn(f"HOME is {place}, which is another user's", "set HOME to your own")
    return ok(", ".join(str(place) for place in homes))


def _network(around: Surroundings) -> Finding:
    """Read what leads out of here: a proxy, an authority of one's own; wrong ones are raised."""
    upstream, bundle = proxy.find(around.environ), certificates.find(around.environ)
    seen = [f"the proxy {upstream.https}"] if upstream else []
    seen += ["certificates of your own"] if bundle else []
    return ok(f"by {' and '.join(seen)}" if seen else "straight out, by the system's certificates")


_TOOLS = ("system.tools",)

PROBES = (
    Probe("system.home", "HOME is a directory of yours", _home),
    Probe("system.tools", "The programs that the sandbox calls are there, and new enough", _tools),
    Probe(
        "system.user-namespaces", "Unprivileged namespaces can be made", _namespaces, needs=_TOOLS
    ),
    Probe("system.network-settings", "The settings for proxies are understood", _network),
    Probe("system.git", "git is installed", _git),
    Probe("system.tmux", "tmux is installed", _tmux),
    Probe("system.disk", "There is room on the disk", _disk),
    Probe("system.clock", "The clock is sane", _clock),
    Probe(
        "system.filesystem",
        "The file system has what rooms need",
        _filesystem,
        needs=("system.disk",),
    ),
)
