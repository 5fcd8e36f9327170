"""Artifacts from the registries, through their own clients: pip and the pinned npm.

The clients check the hashes and know the user's mirrors, proxies and certificates. What
they say when they fail is turned into homeroom's errors here.
"""

import json
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NoReturn

from homeroom.errors import (
    HomeroomError,
    IntegrityError,
    StateError,
    StorageError,
    ToolError,
    TryAgainError,
)
from homeroom.files import create_private
from homeroom.toolchain import child
from homeroom.toolchain.pins import NodePin, Pins
from homeroom.toolchain.store import NODE

CACHE = ".cache"
TEMPORARY = ".tmp"
_REQUIREMENTS = "requirements.txt"
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")
_WANTED = re.compile(r"wanted (sha512-\S+)")
# Codes of npm and Node.js that have nothing to do with the network.
_NPM_ERRORS: dict[str, type[HomeroomError]] = {
    "EUSAGE": IntegrityError,
    "ENOSPC": StorageError,
    "EDQUOT": StorageError,
    "EIO": StorageError,
    "EACCES": StateError,
    "EPERM": StateError,
    "EROFS": StateError,
    "EBADENGINE": ToolError,
    "EBADPLATFORM": ToolError,
}
_PIP_ERRORS: list[tuple[str, type[HomeroomError]]] = [
    (r"Errno (28|122|5)\b|No space left|quota exceeded", StorageError),
    (r"Errno (1|13|30)\b|Read-only file system", StateError),
    # The index gave no version at all: it was not reached, or does not know the name.
    (
        r"from versions: none|Connection|Timeout|timed out|ProxyError|SSLError|HTTP error",
        TryAgainError,
    ),
]
# What stands between this machine and the registries, by what both clients say of it.
_BETWEEN = (
    (
        r"CERTIFICATE_VERIFY_FAILED|certificate verify failed|\w*SELF_SIGNED\w*|UNABLE_TO_[GV]\w+",
        "a certificate that is not trusted here answers for the registry",
        "docs/how-to/corporate-certificates.md",
    ),
    (
        r"\b407\b|Proxy Authentication Required",
        "the proxy wants a login, or refuses the one that it was given",
        "docs/how-to/behind-a-proxy.md",
    ),
)
_AGAIN = (
    "check the network, and the mirror or proxy that {client} is configured for "
    "(docs/how-to/behind-a-proxy.md)"
)
_HINTS: dict[type[HomeroomError], str] = {
    IntegrityError: "nothing was kept; if a mirror serves it, tell whoever runs the mirror",
    StorageError: "free some space there (docs/how-to/disk-full.md), then run: homeroom setup",
    StateError: "make it writable for you, or set HOMEROOM_HOME to a place that is",
    TryAgainError: f"{_AGAIN}, then run: homeroom setup",
    ToolError: _AGAIN,
}


def fetch_node(
    stage: Path, pins: Pins, environ: Mapping[str, str], lock: int, poll: Callable[[], None]
) -> None:
    """Unpack the pinned Node.js into ``<stage>/node``.

    Args:
        stage: The toolchain in the making.
        pins: What to fetch.
        environ: The caller's environment.
        lock: The descriptor of the install's lock.
        poll: Called while it goes on.

    Raises:
        IntegrityError: The wheel is not the pinned one.
        TryAgainError: The index did not answer.
        StorageError, StateError: It could not be written.
        ToolError: pip is missing, or has no build that fits this system.
    """
    node, wheel = pins.node, pins.wheel
    requirements = stage / _REQUIREMENTS
    pinned = f"{node.distribution}=={node.version} --hash=sha256:{wheel.sha256}\n"
    create_private(requirements, pinned.encode())
    # -P: the current directory must not be where pip is imported from.
    argv = [
        *(sys.executable, "-P", "-m", "pip", "install", "--require-hashes", "--no-deps"),
        *("--only-binary", ":all:", "--target", str(stage / NODE), "--no-user", "--no-compile"),
        *("--no-cache-dir", "--no-input", "--disable-pip-version-check", "--progress-bar", "off"),
        *("--no-color", "--requirement", str(requirements)),
    ]
    ended = child.run(argv, stage, child.environment(environ, stage / TEMPORARY), lock, poll)
    requirements.unlink()
    if ended.status:
        _explain_pip(ended, pins)


def fetch_packages(
    stage: Path, pins: Pins, environ: Mapping[str, str], lock: int, poll: Callable[[], None]
) -> None:
    """Unpack the locked npm packages into ``<stage>/node_modules``.

    Args:
        stage: The toolchain in the making, with Node.js in it already.
        pins: What to fetch.
        environ: The caller's environment.
        lock: The descriptor of the install's lock.
        poll: Called while it goes on.

    Raises:
        IntegrityError: A tarball is not the pinned one.
        TryAgainError: The registry did not answer.
        StorageError, StateError: It could not be written.
        ToolError: npm failed for another reason.
    """
    _write_required(stage, pins)
    argv = [*npm(stage / NODE, pins.node), "ci", *_npm_options(stage, pins.platform)]
    ended = child.run(argv, stage, child.environment(environ, stage / TEMPORARY), lock, poll)
    if ended.status:
        _explain_npm(ended, pins)


def _write_required(stage: Path, pins: Pins) -> None:
    """Write npm's two files so that the programs of this platform are required.

    Packages with native programs are optional dependencies, of which npm takes one for each
    platform. It also passes over one that it cannot fetch, or whose hash is wrong, without
    a word (npm 11.17). As a direct dependency its failure is npm's failure.
    """
    manifest = json.loads((pins.lock_dir / "package.json").read_bytes())
    lock = json.loads((pins.lock_dir / "package-lock.json").read_bytes())
    for pin in pins.tools.values():
        package = pin.build.package
        entry = lock["packages"][f"node_modules/{package}"]
        entry.pop("optional", None)
        alias = f"npm:{entry['name']}@" if "name" in entry else ""
        manifest["dependencies"][package] = alias + entry["version"]
    lock["packages"][""]["dependencies"] = manifest["dependencies"]
    create_private(stage / "package.json", json.dumps(manifest).encode())
    create_private(stage / "package-lock.json", json.dumps(lock).encode())


def npm(node_root: Path, node: NodePin) -> list[str]:
    """Give the command that runs the pinned npm with the pinned Node.js."""
    return [str(node_root / node.file), str(node_root / node.npm)]


def _npm_options(stage: Path, platform: str) -> list[str]:
    system, cpu, *libc = platform.split("-")
    here = [f"--os={system}", f"--cpu={cpu}"]
    if system == "linux":
        here.append(f"--libc={libc[0] if libc else 'glibc'}")
    # Options win over what the user's npmrc says: that shall decide where packages come
    # from, not what is installed and where.
    return [
        *("--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--no-progress"),
        *("--global=false", "--dry-run=false", "--package-lock=true", "--bin-links=true"),
        *("--include=prod", "--include=optional", "--install-strategy=hoisted", *here),
        *("--logs-max=0", "--loglevel=error", "--json", "--no-color"),
        f"--prefix={stage}",
        f"--cache={stage / CACHE}",
    ]


def _explain_pip(ended: child.Ended, pins: Pins) -> NoReturn:
    said = ended.output + ended.errors
    what = f"Node.js {pins.node.version}"
    if "DO NOT MATCH THE HASHES" in said:
        _fail(IntegrityError, f"{what} is not the pinned one ({pins.wheel.file})", "pip")
    if "No module named pip" in said:
        raise ToolError(
            f"pip is missing for {sys.executable}", f"{sys.executable} -m ensurepip --upgrade"
        )
    _explain_between(said, f"{what} could not be installed")
    for pattern, error in _PIP_ERRORS:
        if re.search(pattern, said, re.IGNORECASE):
            _fail(error, f"{what} could not be installed: {_last_line(said)}", "pip")
    if "No matching distribution" in said:
        raise ToolError(
            f"the package index has no {what} for this system",
            "it needs glibc 2.28, musl 1.2 or macOS 13; a mirror may also lack it",
        )
    _fail(ToolError, f"{what} could not be installed: {_last_line(said)}", "pip")


def _explain_between(said: str, what: str, told: str = "") -> None:
    for pattern, reason, page in _BETWEEN:
        if found := re.search(pattern, said, re.IGNORECASE):
            hint = f"see {page}, then run: homeroom setup"
            detail = _CREDENTIALS.sub("", told) or found[0]
            raise TryAgainError(f"{what}: {reason} ({detail})", hint)


def _explain_npm(ended: child.Ended, pins: Pins) -> NoReturn:
    code, summary = _npm_error(ended)
    if code == "EINTEGRITY":
        wanted = _WANTED.search(summary)
        package = pins.owners.get(wanted[1], "a package") if wanted else "a package"
        _fail(IntegrityError, f"{_tool_of(package, pins)} is not the pinned one: {summary}", "npm")
    error = _NPM_ERRORS.get(code)
    if error is None:
        told = f"{code} {summary}"
        _explain_between(told, "the npm packages could not be installed", told)
        missing = code in {"E401", "E403", "E404", "ETARGET", "ENOVERSIONS", ""}
        error = ToolError if missing else TryAgainError
    _fail(error, f"the npm packages could not be installed: {code} {summary}".strip(), "npm")


def _npm_error(ended: child.Ended) -> tuple[str, str]:
    try:
        error = json.loads(ended.output)["error"]
        return str(error["code"] or ""), _last_line(str(error["summary"]))
    except (ValueError, KeyError, TypeError):
        how = f"npm ended with {ended.status}"
        return "", _last_line(ended.errors) or how


def _tool_of(package: str, pins: Pins) -> str:
    for name, pin in pins.tools.items():
        if package in (pin.package, pin.build.package):
            return f"{name} {pin.version} ({package})"
    return package


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def _fail(error: type[HomeroomError], message: str, client: str) -> NoReturn:
    # The clients mask what they know to be credentials; an address may hold more.
    raise error(_CREDENTIALS.sub("", message), _HINTS[error].format(client=client))
