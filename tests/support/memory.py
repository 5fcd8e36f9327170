"""Places in memory that any account can have: in a mount namespace, gone with its holder."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.cli import homeroom_argv


@dataclass(frozen=True)
class Memory:
    """A directory in memory, for what is started in its namespace.

    Attributes:
        place: Its path there; elsewhere this is an empty directory.
        holder: The process that keeps the namespace.
    """

    place: Path
    holder: "subprocess.Popen[str]"
    pid: int

    @property
    def seen(self) -> Path:
        """The same directory as it can be seen from outside."""
        return Path(f"/proc/{self.pid}/root{self.place}")

    def argv(self, cwd: Path, *arguments: str | Path) -> list[str]:
        """Say how homeroom is started in the namespace."""
        user = () if os.geteuid() == 0 else ("--user", "--preserve-credentials")
        enter = ("nsenter", f"--target={self.pid}", "--mount", *user)
        return [*enter, "--", "env", "-C", str(cwd), *homeroom_argv(*arguments)]

    def run(
        self, *arguments: str | Path, env: Mapping[str, str], cwd: Path
    ) -> subprocess.CompletedProcess[str]:
        """Run one homeroom command there to its end."""
        return subprocess.run(
            self.argv(cwd, *arguments),
            env=dict(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def lose(self) -> None:
        """Let go of all that is in it, as a power cut does."""
        self.holder.kill()
        self.holder.wait()


@contextlib.contextmanager
def memory() -> Iterator[Memory]:
    """Make one. bubblewrap does it, which every test of a sandbox needs anyway."""
    # Short, as /run/user/1000 is: sockets are made below it.
    with (
        tempfile.TemporaryDirectory(prefix="hm-", dir=os.path.realpath("/tmp")) as name,
        _holding(Path(name), ("--perms", "0700", "--tmpfs", name)) as found,
    ):
        yield found


@contextlib.contextmanager
def own_tmp(*kept: Path) -> Iterator[Memory]:
    """Make a /tmp, and other places of everybody's, that nobody else puts anything into.

    Args:
        kept: Directories that are to be seen in it as elsewhere.
    """
    mounts = [word for path in ("/tmp", "/var/tmp") for word in ("--tmpfs", path)]
    mounts += [word for path in kept for word in ("--bind", str(path), str(path))]
    with _holding(Path("/tmp"), mounts) as found:
        yield found


@contextlib.contextmanager
def _holding(place: Path, mounts: Sequence[str]) -> Iterator[Memory]:
    for tool in ("bwrap", "nsenter"):
        assert shutil.which(tool), f"{tool} is missing: `sh nox.sh -s test` installs it"
    said = ("sh", "-c", "echo $$; exec sleep infinity")
    with subprocess.Popen(
        ["bwrap", "--dev-bind", "/", "/", *mounts, "--die-with-parent", "--", *said],
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        try:
            yield Memory(place, holder, int(holder.stdout.readline()))
        finally:
            holder.kill()
