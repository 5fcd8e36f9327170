"""The adapter for Anthropic's sandbox runtime, srt.

Sources for srt's habits: every published version was measured (0.0.1 to 0.0.83), and the
source of 0.0.83 read. What a launcher must do about each is said where it is done.
"""

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import msgspec

from homeroom import certificates
from homeroom.credential.secret import Secret
from homeroom.errors import SandboxError, StorageError
from homeroom.files import create_private, explain, read_regular
from homeroom.home import Instance
from homeroom.policy import Policy
from homeroom.process import RUN_VARIABLE
from homeroom.proxy import Address
from homeroom.sandbox import Command, Host, Inside, Mode, capabilities
from homeroom.sandbox.capabilities import Capabilities
from homeroom.sandbox.schema import Filesystem, Literally, Network, ParentProxy, Settings

_LIMIT = 4 * 1024 * 1024
# What srt 0.0.83 calls on Linux besides bwrap, socat and rg.
CALLED = ("bash", "which")
# Every command may write there, where it is: all rooms would share it (0.0.2 to 0.0.83).
SHARED = Path("/tmp/claude")  # noqa: S108


class Srt:
    """srt, as one child process a run: its own manager keeps module-level state.

    Args:
        host: The toolchain, the system's tools, and where they are found.

    Attributes:
        own_variables: Variables that srt is started with and the agent shall not see.
    """

    # Set for srt itself; inside, TMPDIR says it.
    own_variables = ("CLAUDE_CODE_TMPDIR",)

    def __init__(self, host: Host) -> None:
        self._host = host
        self._version = host.toolchain.tools["srt"].version

    def settings(self, policy: Policy) -> bytes:
        """Render a policy as srt's settings file, the upstream proxy's password masked.

        Raises:
            SandboxError: The version is not one to be trusted, a rule would be dropped by
                it, or a path is not valid UTF-8.
        """
        return self._render(policy, str)

    def _render(self, policy: Policy, spell: Callable[[Address], str]) -> bytes:
        if not self._host.allow_untried:
            capabilities.require_supported(self._version)
        _refuse_shadowing(policy)
        knows = capabilities.of(self._version)
        programs = self._host.programs if knows.program_paths else {}
        paths = _literal if knows.literal_paths else _plain
        settings = Settings(
            network=Network(
                allowed_domains=_hosts(policy, knows),
                denied_domains=[],
                parent_proxy=self._parent_proxy(knows, spell),
            ),
            filesystem=Filesystem(
                deny_read=paths(policy.deny_read),
                allow_read=paths(policy.allow_read) if knows.allow_read else None,
                allow_write=paths(policy.allow_write),
                deny_write=paths(policy.deny_write),
            ),
            bwrap_path=_text(programs.get("bwrap")),
            socat_path=_text(programs.get("socat")),
        )
        try:
            return msgspec.json.format(msgspec.json.encode(settings))
        except UnicodeEncodeError as error:
            raise SandboxError(
                f"the sandbox's settings are JSON, which cannot hold {os.fsencode(error.object)!r}",
                "use a path that is valid UTF-8",
            ) from error

    def _parent_proxy(
        self, knows: Capabilities, spell: Callable[[Address], str]
    ) -> ParentProxy | None:
        """Send on what leaves; by the settings, because bwrap would inherit a variable.

        ``noProxy`` is always there: without it srt looks into its environment.
        """
        upstream = self._host.upstream
        if upstream is None:
            return None
        if not knows.parent_proxy:
            raise SandboxError(f"srt {self._version} cannot be sent through a proxy")
        http = spell(upstream.http) if upstream.http else None
        return ParentProxy(https=spell(upstream.https), no_proxy=upstream.exempt, http=http)

    def command(self, instance: Instance, mode: Mode) -> Command:
        """Give srt's command line, environment and directory.

        srt starts in a directory of the run's own: it mounts stubs for what it protects
        below its working directory, and runs that shared one disturbed each other. HOME is
        the private one, since srt makes ``~/.claude/debug`` and ``~/.npm/_logs`` writable.
        The command is a path after ``--``, so that srt takes no argument for its own.
        """
        tools = self._host.toolchain.tools
        runtime, control = str(instance.runtime), str(instance.control)
        prelude = (self._host.programs["bash"], instance.runtime / "prelude.sh")
        return Command(
            argv=(
                str(tools["node"].path),
                str(tools["srt"].path),
                "--settings",
                str(instance.settings),
                "--",
                *(str(part) for part in prelude),
                runtime,
                control,
                mode,
            ),
            environment={
                "PATH": self._host.path,
                "HOME": str(instance.home),
                "TMPDIR": control,
                # Else srt sets TMPDIR to /tmp/claude inside and does not make it.
                "CLAUDE_CODE_TMPDIR": str(instance.tmp),
                RUN_VARIABLE: instance.run_id,
                # A proxy may itself be reached by TLS.
                **certificates.environment(self._host.certificates, instance.certificates),
            },
            directory=instance.control,
        )

    def prepare(self, instance: Instance, policy: Policy, inside: Inside) -> None:
        """Write the settings, the prelude and its lists; read the settings back.

        The lists hold what srt's own command line need not: its length is limited to one
        argument of 128 KiB, and it can be seen by other processes.
        """
        runtime = instance.runtime
        content = self._render(policy, Address.reveal)
        lists: dict[str, Iterable[str | Path]] = {
            "unreadable": inside.unreadable,
            "unwritable": inside.unwritable,
            "unset": inside.unset,
            "environment": _pairs(inside.environment),
            "workspace": [inside.workspace],
            "argv": inside.argv,
        }
        prelude = Path(__file__).with_name("prelude.sh").read_bytes()
        try:
            create_private(instance.settings, content)
            if self._host.certificates is not None:
                create_private(instance.certificates, self._host.certificates.content)
            create_private(runtime / "prelude.sh", prelude)
            for name, entries in lists.items():
                create_private(runtime / name, _nul_ended(entries))
            for fifo in ("said", "told"):
                os.mkfifo(instance.control / fifo, 0o600)
        except OSError as error:
            raise explain(error, error.filename or runtime, "write") from error
        verify(instance.settings, content)


def verify(path: Path, meant: bytes) -> None:
    """Read a settings file back, strictly, and refuse any difference from what was meant.

    Args:
        path: The file that srt will be given.
        meant: What was written into it.

    Raises:
        SandboxError: It differs, or does not fit the schema of the pinned srt.
    """
    try:
        found = read_regular(path, _LIMIT)
        if msgspec.json.decode(found, type=Settings) != msgspec.json.decode(meant, type=Settings):
            raise SandboxError(f"{path} does not say what was written into it")
    except (msgspec.DecodeError, UnicodeDecodeError, StorageError, FileNotFoundError) as error:
        raise SandboxError(f"{path} is not a settings file of srt: {error}") from error


def find_programs(environ: Mapping[str, str]) -> tuple[dict[str, Path], list[str]]:
    """Look for the system's tools that srt starts.

    Args:
        environ: The caller's environment.

    Returns:
        Where each is, or would be, by name; and the names of those that are not there.
    """
    names = ("bwrap", "socat") if sys.platform == "linux" else ()
    programs: dict[str, Path] = {}
    missing: list[str] = []
    for name in (*names, *CALLED):
        found = shutil.which(name, path=environ.get("PATH", os.defpath))
        if found is None:
            missing.append(name)
        programs[name] = Path(os.path.abspath(found or f"/usr/bin/{name}"))
    return programs, missing


def image_programs() -> dict[str, Path]:
    """Tell where the same tools are in an image, which no look at this machine shows."""
    return {name: Path("/usr/bin", name) for name in ("bwrap", "socat", *CALLED)}


def sandbox_path(programs: Mapping[str, Path], pinned: Iterable[Path]) -> str:
    """Build the PATH for srt's own processes: pinned tools first, then the system's.

    Args:
        programs: The system's tools by name.
        pinned: Executables of the toolchain.

    Returns:
        A PATH with each directory once.
    """
    directories = [path.parent for path in (*pinned, *programs.values())]
    directories += [Path("/usr/bin"), Path("/bin")]
    return os.pathsep.join(dict.fromkeys(str(directory) for directory in directories))


def _refuse_shadowing(policy: Policy) -> None:
    """Refuse rules that srt would get wrong in silence (0.0.44 to 0.0.83)."""
    for write in policy.allow_write:
        for read in policy.allow_read:
            if read != write and write.is_relative_to(read) and not policy.is_readable(read.parent):
                raise SandboxError(
                    f"reading {read} is allowed above {write}, which is to be writable: "
                    "srt would make that read-only",
                    f"allow writing to {read}, or name its parts",
                )


def _literal(paths: Iterable[Path]) -> list[str | Literally]:
    return [Literally(str(path)) for path in paths]


def _plain(paths: Iterable[Path]) -> list[str | Literally]:
    return [str(path) for path in paths]


def _hosts(policy: Policy, knows: Capabilities) -> list[str]:
    if knows.host_ports:
        return list(policy.hosts)
    return list(dict.fromkeys(host.partition(":")[0] for host in policy.hosts))


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _pairs(environment: Mapping[str, str | Secret]) -> list[str]:
    return [
        f"{name}={value.reveal() if isinstance(value, Secret) else value}"
        for name, value in environment.items()
    ]


def _nul_ended(entries: Iterable[str | Path]) -> bytes:
    return b"".join(os.fsencode(entry) + b"\0" for entry in entries)
