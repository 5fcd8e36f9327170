"""One captured run in a sandbox, to see what it really lets through."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from homeroom import home, process
from homeroom.home import Instance
from homeroom.paths import Paths
from homeroom.policy import Policy
from homeroom.sandbox import Inside, Sandbox


class Trial(msgspec.Struct, frozen=True):
    """What a captured run did.

    Attributes:
        status: Its exit status; negative for a signal that killed the sandbox itself.
        output: What it wrote to standard output.
        errors: What it wrote to standard error.
        said: What the prelude told last: ``started …`` or ``refused …``.
    """

    status: int
    output: str
    errors: str
    said: str

    @property
    def started(self) -> bool:
        """Whether the proof succeeded and the command was started."""
        return self.said.startswith("started")


@contextlib.contextmanager
def scratch_instance(paths: Paths) -> Iterator[Instance]:
    """Make an instance for a trial, and wipe it however the trial ends.

    Args:
        paths: homeroom's directories.

    Yields:
        The instance, materialized.
    """
    instance = home.instance_of(paths, home.new_run_id())
    try:
        home.materialize(instance)
        yield instance
    finally:
        process.end_members(instance.run_id, 0.0)
        home.wipe(instance, instance.trash)


def run(
    sandbox: Sandbox,
    instance: Instance,
    policy: Policy,
    inside: Inside,
    *,
    limit: float,
    stdin: bytes = b"",
) -> Trial:
    """Run a command in the sandbox and capture what it does.

    Args:
        sandbox: The adapter.
        instance: A materialized instance that nothing was prepared in yet.
        policy: The rules.
        inside: The command.
        limit: How long it may take, in seconds.
        stdin: What it reads.

    Returns:
        What it did. One that takes too long is killed, its status is that of SIGKILL.
    """
    sandbox.prepare(instance, policy, inside)
    command = sandbox.command(instance, "exec")
    flags = os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC
    said, told = (os.open(instance.control / name, flags) for name in ("said", "told"))
    try:
        # Let in as soon as it has proven what it has to.
        os.write(told, b"go\n")
        child = subprocess.Popen(
            command.argv,
            env=dict(command.environment),
            cwd=command.directory,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            output, errors = child.communicate(stdin, timeout=limit)
        except subprocess.TimeoutExpired:
            process.send_group(child.pid, signal.SIGKILL)
            output, errors = child.communicate()
        finally:
            process.send_group(child.pid, signal.SIGKILL)
        last = _text(_read(said)).strip().rpartition("\n")[2]
        return Trial(child.returncode, _text(output), _text(errors), last)
    finally:
        os.close(said)
        os.close(told)


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except BlockingIOError:
        return b""


def _text(content: bytes) -> str:
    return content.decode(errors="replace")


def command_line(
    argv: tuple[str, ...],
    workspace: Path,
    instance: Instance,
    environment: Mapping[str, str],
    unset: tuple[str, ...] = (),
) -> Inside:
    """Describe a trial's command, with the canary as the proof's only subject.

    Args:
        argv: What to run.
        workspace: Where.
        instance: The trial's instance.
        environment: Its variables, besides HOME and TMPDIR.
        unset: Variables of the sandbox's own to remove.
    """
    own = {"HOME": str(instance.home), "TMPDIR": str(instance.tmp)}
    return Inside(
        argv=argv,
        environment={**environment, **own},
        unset=unset,
        workspace=workspace,
        unreadable=(instance.canary,),
        unwritable=(instance.runtime / "canary",),
    )
