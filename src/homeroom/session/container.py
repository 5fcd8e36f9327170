"""A run in a container of its own: its processes live there, its supervisor here.

The kernel is the same one, so that the supervisor finds, signals and ends the agent as it
does any other run's. The engine is needed to make the container and to remove it; in
between it may die, and the run goes on.
"""

import contextlib
import os
import select
import signal
import socket
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from homeroom import process
from homeroom.errors import HomeroomError, ToolError
from homeroom.files import create_private, ensure_private_dir, explain, read_regular
from homeroom.home import RUN_ID, Instance, instance_of
from homeroom.paths import Paths
from homeroom.run import lock
from homeroom.run.find import lock_file
from homeroom.run.taking import Entry
from homeroom.sandbox import Command
from homeroom.session import engine, housing
from homeroom.session.housing import Housing
from homeroom.session.signals import Signals

if TYPE_CHECKING:
    import docker

_PYTHON = "/usr/bin/python3"
_START_LIMIT = 45.0
_POLL = 0.1
_CREDENTIALS = struct.Struct("3i")  # struct ucred, unix(7)
_ADDRESS_LIMIT = 4096


class Contained:
    """The first process of a container, which tells over a socket how its command ended.

    Args:
        pid: As it is known here.
        channel: The socket. While it is open the process does not end by itself, so that
            its pid stays its own.
    """

    def __init__(self, pid: int, channel: socket.socket) -> None:
        self.pid = pid
        self.returncode: int | Any = None
        self._channel = channel
        self._identity = process.identity(pid)

    def poll(self) -> int | None:
        """Look whether the command has ended, or the container is gone."""
        if self.returncode is None and select.select([self._channel], [], [], 0)[0]:
            said = b""
            with contextlib.suppress(ConnectionError):
                said = self._channel.recv(16)
            # Whoever removes a container or kills it lets nothing be said.
            self.returncode = int(said) if said else -signal.SIGKILL
        found: int | None = self.returncode
        return found

    def wait(self) -> int:
        """Wait until it has ended."""
        while (status := self.poll()) is None:
            select.select([self._channel], [], [])
        return status

    def fileno(self) -> int:
        """Give what is readable at its end."""
        return self._channel.fileno()

    def ask(self, number: int) -> None:
        """Send it a signal, which it hands on to its command."""
        if process.identity(self.pid) == self._identity:
            process.send(self.pid, number)

    def kill(self) -> None:
        """Kill it, and with it everything in the container."""
        self.ask(signal.SIGKILL)


class Container:
    """The container of one run, from before it is made until it is gone.

    Args:
        wanted: What it shall be.
        instance: The run's places.
        paths: homeroom's directories.
        signals: This process's signals; one that asks for the end stops a slow start.
        tell: Says a line to the user.
    """

    def __init__(
        self,
        wanted: Housing,
        instance: Instance,
        paths: Paths,
        signals: Signals,
        tell: Callable[[str], None],
    ) -> None:
        self._housing = wanted
        self._instance = instance
        self._paths = paths
        self._signals = signals
        self._tell = tell
        self._channel: socket.socket | None = None

    def spawn(self, command: Command) -> Contained:
        """Make and start the container, with this process's own streams for the command.

        Args:
            command: What is executed in it.

        Returns:
            Its first process.

        Raises:
            ToolError: The engine would not, or what it started is not to be seen from here.
            SandboxError: Something else is mounted in it than what was decided.
            EndedBySignalError: A signal asked for the end in the meantime.
        """
        place = self._instance.control / "streams"
        housing.write_accounts(self._instance)
        self._note()
        with (
            engine.connected(self._housing.address) as client,
            socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening,
        ):
            image = engine.require(client, self._housing.image)
            meant = housing.identities(self._housing)
            try:
                listening.bind(str(place))
                listening.listen(1)
            except OSError as error:
                raise explain(error, place, "make the socket") from error
            with engine.answering("make the run's container"):
                identity = self._create(client, image, command, place)
            with engine.answering("start the run's container"):
                client.api.start(identity)
            self._channel = self._accept(listening, client, identity)
        return self._hand_over(self._channel, meant)

    def _hand_over(
        self, channel: socket.socket, meant: Mapping[Path, tuple[int, int]]
    ) -> Contained:
        """Give the command its streams, once the container is known for what it shall be."""
        pid, uid, _ = _CREDENTIALS.unpack(
            channel.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        )
        if pid <= 0 or uid != os.geteuid():
            raise ToolError("the processes of the run's container cannot be seen from here")
        housing.verify(meant, pid)
        try:
            with _streams() as streams:
                socket.send_fds(channel, [str(_umask()).encode()], streams)
        except OSError as error:
            raise ToolError(f"the run's container ended at once: {error.strerror}") from error
        return Contained(pid, channel)

    def remove(self) -> None:
        """See to it that the container is gone; where the engine does not answer, say so."""
        if self._channel is not None:
            self._channel.close()
        run_id = self._instance.run_id
        try:
            with engine.connected(self._housing.address) as client:
                engine.remove(client, run_id, self._paths.state)
        except ToolError as error:
            process.end_members(run_id, 0.0)
            self._tell(f"{error}; a later sweep removes the container of {run_id[:12]}")
            return
        note = _note_file(self._paths, run_id)
        try:
            note.unlink(missing_ok=True)
        except OSError as error:
            raise explain(error, note, "remove") from error

    def _note(self) -> None:
        """Note, before it exists, that there is a container, and with which engine."""
        path = _note_file(self._paths, self._instance.run_id)
        ensure_private_dir(path.parent)
        try:
            create_private(path, self._housing.address.encode())
        except OSError as error:
            raise explain(error, path, "write") from error

    def _create(
        self, client: "docker.DockerClient", image: str, command: Command, place: Path
    ) -> str:
        code = Path(__file__).with_name("container_init.py").read_text(encoding="utf-8")
        host = client.api.create_host_config(**housing.rights(self._housing, self._instance))
        # The engine's command line calls this systempaths=unconfined; the SDK has no name
        # for it. Without it bubblewrap may not mount a /proc of its own.
        host |= {"MaskedPaths": [], "ReadonlyPaths": []}
        if engine.needs_no_apparmor(client):
            host["SecurityOpt"] = [*host["SecurityOpt"], "apparmor=unconfined"]
        # The command's environment is decided here; an image's ENV has no part in it.
        pairs = [f"{name}={value}" for name, value in command.environment.items()]
        made = client.api.create_container(
            image,
            name=f"homeroom-{self._instance.run_id}",
            entrypoint=["/usr/bin/env", "-i", *pairs, _PYTHON, "-I", "-S", "-c", code],
            command=[str(place), *command.argv],
            working_dir=str(command.directory),
            user=f"{os.geteuid()}:{os.getegid()}",
            hostname="room" if self._housing.network == "bridge" else None,
            host_config=host,
            labels={
                engine.RUN_LABEL: self._instance.run_id,
                engine.HOME_LABEL: str(self._paths.state),
            },
        )
        return str(made["Id"])

    def _accept(
        self, listening: socket.socket, client: "docker.DockerClient", identity: str
    ) -> socket.socket:
        """Wait for the container's first process, as long as there is one to wait for."""
        deadline = time.monotonic() + _START_LIMIT
        while not select.select([listening], [], [], _POLL)[0]:
            self._signals.check()
            with engine.answering("tell of the run's container"):
                is_running = client.api.inspect_container(identity)["State"]["Running"]
                said = b"" if is_running else client.api.logs(identity, tail=3)
            if not is_running or time.monotonic() > deadline:
                why = said.decode(errors="replace").strip() or "it said nothing"
                raise ToolError(
                    f"the image {self._housing.image} does not start a run: {why}",
                    f"it needs {_PYTHON}; see {engine.PAGE}",
                )
        return listening.accept()[0]


@contextlib.contextmanager
def _streams() -> Iterator[list[int]]:
    """Give the three standard streams; one that the caller has closed is an empty one.

    Its number may stand for a file of ours by now, which no child would inherit.
    """
    opened: list[int] = []
    found: list[int] = []
    try:
        for number in range(3):
            if _is_passed_on(number):
                found.append(number)
            else:
                opened.append(os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC))
                found.append(opened[-1])
        yield found
    finally:
        for number in opened:
            os.close(number)


def _is_passed_on(number: int) -> bool:
    try:
        return os.get_inheritable(number)
    except OSError:
        return False


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _note_file(paths: Paths, run_id: str) -> Path:
    return paths.state / "containers" / run_id


def sweep(paths: Paths, *, only: str | None = None, dry_run: bool = False) -> list[Entry]:
    """Remove the containers of runs that are dead and whose rooms have been swept.

    Args:
        paths: homeroom's directories.
        only: The one run to look at, or None for all.
        dry_run: Whether to only say what would be done.

    Returns:
        What was done about each that was noted and is still there, or could not be asked for.
    """
    notes = _note_file(paths, "x").parent
    try:
        noted = sorted(os.listdir(notes))
    except FileNotFoundError:
        return []
    except OSError as error:
        return [Entry(str(notes), "failed", str(error))]
    entries = []
    for run_id in noted:
        if not RUN_ID.fullmatch(run_id) or only not in (None, run_id):
            continue
        try:
            if _has_room(paths, run_id):
                continue
            if dry_run:
                entries.append(Entry(run_id, "would remove", "its container may be left"))
            elif _remove_noted(paths, run_id):
                entries.append(Entry(run_id, "removed", "its container was left"))
        except FileNotFoundError:
            continue  # another sweep has done it
        except (HomeroomError, OSError) as error:
            entries.append(Entry(run_id, "failed", f"its container may be left: {error}"))
    return entries


def _has_room(paths: Paths, run_id: str) -> bool:
    instance = instance_of(paths, run_id)
    rooms = os.path.lexists(instance.root) or os.path.lexists(instance.temp)
    return rooms or lock.is_held(lock_file(paths, run_id))


def _remove_noted(paths: Paths, run_id: str) -> int:
    note = _note_file(paths, run_id)
    place = read_regular(note, _ADDRESS_LIMIT).decode()
    with engine.connected(place) as client:
        removed = engine.remove(client, run_id, paths.state)
    note.unlink(missing_ok=True)
    return removed
