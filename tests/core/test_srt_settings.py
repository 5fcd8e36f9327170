"""The settings for srt: what homeroom means is what srt's own schema keeps of it."""

import json
import os
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from homeroom import config
from homeroom.credential.secret import Secret
from homeroom.errors import ConfigError, HomeroomError, SandboxError
from homeroom.files import create_private
from homeroom.home import Instance, instance_of, materialize, new_run_id
from homeroom.paths import Paths
from homeroom.policy import Policy
from homeroom.sandbox import Host, Inside, capabilities
from homeroom.sandbox.srt import Srt, verify
from homeroom.toolchain.store import Toolchain

# A line is a settings file's whole text; the answer is what the schema makes of it.
_ASK = """
import { createInterface } from 'node:readline';
const { SandboxRuntimeConfigSchema: schema } = await import(process.argv[2]);
for await (const line of createInterface({ input: process.stdin })) {
  const result = schema.safeParse(JSON.parse(JSON.parse(line)));
  const answer = result.success ? { kept: result.data } : { refused: String(result.error) };
  console.log(JSON.stringify(answer));
}
"""
Ask = Callable[[bytes], dict[str, Any]]


@pytest.fixture(scope="module")
def ask(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Put settings to the schema of the pinned srt, in the pinned Node.js."""
    script = tmp_path_factory.mktemp("ask") / "ask.mjs"
    script.write_text(_ASK)
    module = toolchain.tools["srt"].path.parent / "sandbox" / "sandbox-config.js"
    node = str(toolchain.tools["node"].path)
    with subprocess.Popen(
        [node, str(script), module.as_uri()],
        env={},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        ends = process.stdin, process.stdout

        def answer(settings: bytes) -> dict[str, Any]:
            ends[0].write(json.dumps(settings.decode()) + "\n")
            ends[0].flush()
            found: dict[str, Any] = json.loads(ends[1].readline())
            return found

        yield answer
        process.stdin.close()
        assert process.wait(timeout=20) == 0


@pytest.fixture(scope="module")
def host(toolchain: Toolchain) -> Host:
    programs = {"bwrap": Path("/usr/bin/bwrap"), "socat": Path("/x y/socat"), "bash": Path("/b")}
    return Host(toolchain, programs, "/usr/bin")


@pytest.fixture
def instance(paths: Paths) -> Instance:
    made = instance_of(paths, new_run_id())
    materialize(made)
    return made


EMPTY = Policy((), (), (), (), ())


def test_the_schema_drops_what_it_does_not_know(ask: Ask) -> None:
    """Were it otherwise, comparing what it keeps would show nothing."""
    text = b'{"network":{"allowedDomains":[],"deniedDomains":[],"colour":1},"filesystem":'
    text += b'{"denyRead":[],"allowRead":[],"allowWrite":[],"denyWrite":[]},"colour":2}'
    kept = ask(text)["kept"]
    assert "colour" not in kept
    assert "colour" not in kept["network"]


names = st.text(
    st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=12
).filter(lambda name: name not in (".", ".."))
places = st.lists(names, min_size=1, max_size=4).map(lambda parts: Path("/", *parts))
some = st.lists(places, max_size=4).map(tuple)
label = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9-]{0,5}[A-Za-z0-9])?", fullmatch=True)
hosts = st.builds(
    lambda star, labels, port: f"{star}{'.'.join(labels)}{port}",
    st.sampled_from(["", "*."]),
    st.lists(label, min_size=2, max_size=4),
    st.none().map(lambda _: "") | st.integers(1, 65535).map(lambda port: f":{port}"),
)


@given(
    policy=st.builds(
        Policy,
        deny_read=some,
        allow_read=some,
        allow_write=some,
        deny_write=some,
        hosts=st.lists(hosts, max_size=3).map(tuple),
    )
)
def test_srt_keeps_every_rule_as_it_is_written(ask: Ask, host: Host, policy: Policy) -> None:
    try:
        settings = Srt(host).settings(policy)
    except SandboxError as error:
        assert "srt would make that read-only" in error.message  # noqa: PT017
        return
    written = json.loads(settings)
    assert ask(settings) == {"kept": written}
    filesystem = written["filesystem"]
    for key, paths in (
        ("denyRead", policy.deny_read),
        ("allowRead", policy.allow_read),
        ("allowWrite", policy.allow_write),
        ("denyWrite", policy.deny_write),
    ):
        assert filesystem[key] == [{"path": str(path), "literal": True} for path in paths]
    assert written["network"] == {"allowedDomains": list(policy.hosts), "deniedDomains": []}
    assert written["bwrapPath"] == "/usr/bin/bwrap"
    assert written["socatPath"] == "/x y/socat"


@given(host_text=hosts | st.text("ab.*:-/0189[]", max_size=12) | st.just("localhost"))
def test_what_the_configuration_takes_for_a_host_srt_takes_for_one(
    ask: Ask, host: Host, tmp_path_factory: pytest.TempPathFactory, host_text: str
) -> None:
    path = tmp_path_factory.mktemp("c") / "config.toml"
    path.write_text(f"[network]\nallow = ['{host_text}']\n")
    try:
        allowed = config.load(path).network.allow
    except ConfigError:
        return
    settings = Srt(host).settings(replace(EMPTY, hosts=allowed))
    assert ask(settings) == {"kept": json.loads(settings)}


def test_an_empty_policy_reaches_nobody_and_writes_nothing(ask: Ask, host: Host) -> None:
    kept = ask(Srt(host).settings(EMPTY))["kept"]
    assert kept["network"]["allowedDomains"] == []
    assert kept["filesystem"]["allowWrite"] == []


@pytest.mark.parametrize("version", ["0.0.1", "0.0.15", "0.0.78", "0.0.84", "0.1.0", "1.0.0"])
def test_settings_for_an_srt_that_is_not_known_are_refused(host: Host, version: str) -> None:
    tools = dict(host.toolchain.tools)
    tools["srt"] = replace(tools["srt"], version=version)
    other = replace(host, toolchain=replace(host.toolchain, tools=tools))
    with pytest.raises(SandboxError, match=f"srt {version} is"):
        Srt(other).settings(EMPTY)


def test_a_path_that_json_cannot_hold_is_refused_by_name(host: Host) -> None:
    path = Path(os.fsdecode(b"/some/\xff"))
    with pytest.raises(SandboxError, match=r"\\xff"):
        Srt(host).settings(replace(EMPTY, deny_read=(path,)))


def test_a_readable_directory_above_a_writable_one_in_a_denied_place_is_refused(
    host: Host,
) -> None:
    home = Path("/home/u")
    shadowing = Policy((home,), (home / "a",), (home / "a/b",), (), ())
    with pytest.raises(SandboxError, match="srt would make that read-only"):
        Srt(host).settings(shadowing)
    beside = Policy((home,), (home / "a", home / "b"), (home / "b",), (), ())
    assert Srt(host).settings(beside)


def test_the_command_keeps_the_agents_words_to_itself(host: Host, instance: Instance) -> None:
    command = Srt(host).command(instance, "exec")
    argv = list(command.argv)
    assert argv[2:4] == ["--settings", str(instance.settings)]
    assert argv[4] == "--"
    assert all(os.path.isabs(word) for word in argv[5:-1])
    assert command.environment["HOME"] == str(instance.home)
    assert set(command.environment) == {
        "PATH",
        "HOME",
        "TMPDIR",
        "CLAUDE_CODE_TMPDIR",
        "HOMEROOM_RUN",
    }
    assert command.directory == instance.control


SECRET = "a-secret-value"
INSIDE = Inside(
    argv=("agent", "", "a b", "new\nline", "--"),
    environment={"EMPTY": "", "KEY": Secret(SECRET), "LINES": "a\nb"},
    unset=(),
    workspace=Path("/some/where"),
    unreadable=(Path("/some/canary"),),
    unwritable=(Path("/some/probe"),),
)
POLICY = Policy((Path("/home"),), (), (Path("/home/u/work"),), (), ("example.org",))


@pytest.mark.usefixtures("open_umask")
def test_what_is_prepared_is_private_and_says_what_was_meant(
    host: Host, instance: Instance
) -> None:
    Srt(host).prepare(instance, POLICY, INSIDE)
    assert instance.settings.read_bytes() == Srt(host).settings(POLICY)
    assert (instance.runtime / "argv").read_bytes() == b"agent\0\0a b\0new\nline\0--\0"
    assert (instance.runtime / "unset").read_bytes() == b""
    environment = (instance.runtime / "environment").read_bytes()
    assert environment == f"EMPTY=\0KEY={SECRET}\0LINES=a\nb\0".encode()
    for directory in (instance.root, instance.runtime, instance.control):
        for path in directory.iterdir():
            if path.is_dir():
                continue
            assert stat.S_IMODE(path.lstat().st_mode) == 0o600, path
    holders = [path.name for path in instance.runtime.iterdir() if SECRET in path.read_text()]
    assert holders == ["environment"]


def test_preparing_touches_nothing_that_is_there(host: Host, instance: Instance) -> None:
    instance.settings.symlink_to(instance.canary)
    before = instance.canary.read_bytes()
    with pytest.raises(HomeroomError, match=r"settings\.json"):
        Srt(host).prepare(instance, POLICY, INSIDE)
    assert instance.canary.read_bytes() == before


def test_settings_that_did_not_reach_the_disk_are_noticed(
    host: Host, instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = create_private

    def forgetful(path: Path, content: bytes) -> None:
        real(path, b"" if path.name == "settings.json" else content)

    monkeypatch.setattr("homeroom.sandbox.srt.create_private", forgetful)
    with pytest.raises(SandboxError, match="is not a settings file"):
        Srt(host).prepare(instance, POLICY, INSIDE)


def change(text: bytes, old: str, new: str) -> bytes:
    assert old in text.decode()
    return text.decode().replace(old, new).encode()


TAMPERED: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "an empty object": lambda _: b"{}",
    "no object": lambda _: b"[]",
    "cut off": lambda text: text[:-2],
    "more after it": lambda text: text + b"{}",
    "a byte order mark": lambda text: b"\xef\xbb\xbf" + text,
    "no UTF-8": lambda text: change(text, "example.org", "ex").replace(b"ex", b"\xff"),
    "a deny less": lambda text: change(text, '"path": "/home",', '"path": "/hom",'),
    "a write more": lambda text: change(text, "/home/u/work", "/home/u"),
    "a host more": lambda text: change(text, '"example.org"', '"example.org", "example.com"'),
    "a pattern": lambda text: change(text, '"literal": true', '"literal": false'),
    "an unknown key": lambda text: change(text, '"network"', '"colour": 1, "network"'),
    "an unknown key within": lambda text: change(
        text, '"deniedDomains"', '"allowAllUnixSockets": true, "deniedDomains"'
    ),
    "a list missing": lambda text: change(text, '"denyWrite"', '"denyWrites"'),
    "another bwrap": lambda text: change(text, "/usr/bin/bwrap", "/tmp/bwrap"),
}


@pytest.mark.parametrize("how", TAMPERED)
def test_settings_that_were_tampered_with_are_refused(host: Host, tmp_path: Path, how: str) -> None:
    meant = Srt(host).settings(POLICY)
    path = tmp_path / "settings.json"
    path.write_bytes(TAMPERED[how](meant))
    with pytest.raises(SandboxError) as told:
        verify(path, meant)
    assert str(path) in told.value.message
    path.write_bytes(meant)
    verify(path, meant)


def test_settings_that_are_gone_or_elsewhere_are_refused(host: Host, tmp_path: Path) -> None:
    meant = Srt(host).settings(POLICY)
    path = tmp_path / "settings.json"
    with pytest.raises(SandboxError):
        verify(path, meant)
    (tmp_path / "elsewhere").write_bytes(meant)
    path.symlink_to("elsewhere")
    with pytest.raises(SandboxError):
        verify(path, meant)


def test_the_pinned_version_is_the_newest_that_was_tried(toolchain: Toolchain) -> None:
    assert capabilities.parse(toolchain.tools["srt"].version) == capabilities.NEWEST_TRIED
