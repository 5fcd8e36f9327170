#!/usr/bin/env python3
"""Run a command beside a container engine: the one that runs, or, as root, one for it alone.

usage: with_container_engine.py COMMAND [ARGUMENT…]
"""

import contextlib
import os
import pwd
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

_LOCAL = "/var/run/docker.sock"


def main() -> int:
    """Run the command and return its status."""
    try:
        with running() as address:
            environ = os.environ | ({"DOCKER_HOST": address} if address else {})
            return subprocess.run(sys.argv[1:], check=False, env=environ).returncode
    except RuntimeError as error:
        sys.stderr.write(f"{error}\n")
        return 69


@contextlib.contextmanager
def running() -> Iterator[str | None]:
    """Keep an engine running.

    Yields:
        Its address. None where there is none and none can be had: whoever needs one says
        so, and what to do.

    Raises:
        RuntimeError: The engine that was started ended at once.
    """
    if "DOCKER_HOST" in os.environ or _listens(_LOCAL):
        yield os.environ.get("DOCKER_HOST", f"unix://{_LOCAL}")
    elif os.geteuid() != 0:
        yield None
    else:
        with tempfile.TemporaryDirectory(prefix="homeroom-engine-") as name:
            address, log = f"{name}/docker.sock", Path(name, "log")
            argv = ["dockerd", f"--host=unix://{address}", f"--pidfile={name}/pid"]
            with log.open("wb") as output, _started(argv, address, output.fileno(), log):
                yield f"unix://{address}"


@contextlib.contextmanager
def relayed(address: str, account: pwd.struct_passwd) -> Iterator[str]:
    """Let a user in to an engine that only root may use, for a while.

    Args:
        address: The engine's.
        account: The user.

    Yields:
        An address for that user alone.
    """
    with tempfile.TemporaryDirectory(prefix="homeroom-engine-") as name:
        os.chown(name, account.pw_uid, account.pw_gid)
        place = f"{name}/docker.sock"
        listen = f"UNIX-LISTEN:{place},fork,mode=600,user={account.pw_uid}"
        target = address.removeprefix("unix://")
        log = Path(name, "log")
        argv = ["socat", listen, f"UNIX-CONNECT:{target}"]
        with log.open("wb") as output, _started(argv, place, output.fileno(), log):
            yield f"unix://{place}"


@contextlib.contextmanager
def _started(argv: list[str], address: str, output: int, log: Path) -> Iterator[None]:
    with subprocess.Popen(argv, stdout=output, stderr=output) as daemon:
        try:
            while not _listens(address):
                if daemon.poll() is not None:
                    raise RuntimeError(f"{argv[0]} ended: {log.read_text()[-600:]}")
                time.sleep(0.1)
            yield
        finally:
            daemon.terminate()


def _listens(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(path) == 0


if __name__ == "__main__":
    sys.exit(main())
