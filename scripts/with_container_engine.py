#!/usr/bin/env python3
"""Run a command beside a container engine: the one that runs, or, as root, one for it alone.

usage: with_container_engine.py COMMAND [ARGUMENT…]
"""

import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_LOCAL = "/var/run/docker.sock"


def main() -> int:
    """Run the command and return its status."""
    runs = "DOCKER_HOST" in os.environ or _listens(_LOCAL)
    if runs or os.geteuid() != 0:
        # Where there is none and none can be had, the command says so, and what to do.
        return subprocess.run(sys.argv[1:], check=False).returncode
    with tempfile.TemporaryDirectory(prefix="homeroom-engine-") as name:
        address, log = f"{name}/docker.sock", Path(name, "log")
        # Nothing that is built or run has a network, so that none needs to be made.
        engine = ["dockerd", f"--host=unix://{address}", f"--pidfile={name}/pid"]
        with (
            log.open("wb") as output,
            subprocess.Popen(
                [*engine, "--bridge=none", "--iptables=false"], stdout=output, stderr=output
            ) as daemon,
        ):
            try:
                while not _listens(address):
                    if daemon.poll() is not None:
                        sys.stderr.write(f"dockerd ended: {log.read_text()[-600:]}\n")
                        return 69
                    time.sleep(0.1)
                environ = {**os.environ, "DOCKER_HOST": f"unix://{address}"}
                return subprocess.run(sys.argv[1:], check=False, env=environ).returncode
            finally:
                daemon.terminate()


def _listens(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(path) == 0


if __name__ == "__main__":
    sys.exit(main())
