"""The user's configuration: what it says holds, and what it does not know is refused."""

import contextlib
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeroom import config
from homeroom.config import Config
from homeroom.errors import ConfigError
from tests.core.kinds import NOT_A_FILE
from tests.support.tree import snapshot


def load(directory: Path, text: str | bytes) -> Config:
    path = directory / "config.toml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    before = snapshot(directory)
    try:
        return config.load(path)
    finally:
        assert snapshot(directory) == before


def refusal(directory: Path, text: str | bytes) -> ConfigError:
    with pytest.raises(ConfigError) as told:
        load(directory, text)
    assert str(directory / "config.toml") in told.value.message
    return told.value


def test_a_missing_file_means_the_defaults(tmp_path: Path) -> None:
    assert config.load(tmp_path / "none" / "config.toml") == Config()
    assert load(tmp_path, "") == Config()


def test_by_default_a_room_gets_nothing_of_the_users(tmp_path: Path) -> None:
    found = load(tmp_path, "")
    assert found.network.allow == ()
    assert (found.files.read, found.files.write, found.files.deny) == ((), (), ())
    assert found.environment.inherit == ()


def test_what_is_said_holds(tmp_path: Path) -> None:
    found = load(
        tmp_path,
        """
        [network]
        allow = ["example.org", "*.example.org:443"]
        [files]
        read = ["~/docs"]
        write = ["/srv/shared"]
        deny = ["~/secrets"]
        [environment]
        inherit = ["DATABASE_URL"]
        [run]
        archive = "never"
        stop_grace = 0
        """,
    )
    assert found.network.allow == ("example.org", "*.example.org:443")
    assert found.files.read == ("~/docs",)
    assert found.files.write == ("/srv/shared",)
    assert found.files.deny == ("~/secrets",)
    assert found.environment.inherit == ("DATABASE_URL",)
    assert found.run.archive == "never"
    assert found.run.stop_grace == 0


@pytest.mark.parametrize("kind", NOT_A_FILE)
def test_what_cannot_be_read_is_never_taken_for_the_defaults(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "d" / "config.toml"
    path.parent.mkdir()
    NOT_A_FILE[kind](path)
    with pytest.raises(ConfigError) as told:
        config.load(path)
    assert str(path) in told.value.message


def test_a_symlink_to_a_file_elsewhere_is_read(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    load(tmp_path / "dotfiles", '[environment]\ninherit = ["EDITOR_X"]')
    (tmp_path / "config.toml").symlink_to("dotfiles/config.toml")
    assert config.load(tmp_path / "config.toml").environment.inherit == ("EDITOR_X",)


@pytest.mark.parametrize(
    "text",
    [
        b"\xff\xfe[run]",
        b"\xef\xbb\xbf[run]",
        b"[run",
        b"[run]\n[run]",
        b"a = " + b"[" * 5000 + b"]" * 5000,
        b"#" * (1024 * 1024 + 1),
    ],
    ids=["no UTF-8", "a byte order mark", "cut off", "twice", "deep", "huge"],
)
def test_what_is_no_toml_is_refused(tmp_path: Path, text: bytes) -> None:
    assert refusal(tmp_path, text).hint


@pytest.mark.parametrize(
    ("text", "key", "hint"),
    [
        ("[netwrok]\nallow = []", "netwrok", "did you mean network?"),
        ("[network]\nalow = []", "network.alow", "did you mean network.allow?"),
        ("[files]\nwriteable = []", "files.writeable", "did you mean files.write?"),
        ("[run]\nstop-grace = 1", "run.stop-grace", "did you mean run.stop_grace?"),
        ("xyzzy = 1", "xyzzy", "known here: network, files"),
    ],
)
def test_an_unknown_key_is_named_with_the_nearest_known(
    tmp_path: Path, text: str, key: str, hint: str
) -> None:
    error = refusal(tmp_path, text)
    assert f"unknown key {key!r}" in error.message
    assert (error.hint or "").startswith(hint)


@pytest.mark.parametrize(
    "text",
    [
        "network = 1",
        "[network]\nallow = 'example.org'",
        "[network]\nallow = [1]",
        "[files]\nread = {a = 1}",
        "[run]\narchive = 'sometimes'",
        "[run]\narchive = true",
        "[run]\ncredentials_in = 'swap'",
        "[run]\nstop_grace = '5'",
        "[run]\nstop_grace = -1",
        "[run]\nstop_grace = 601",
        "[run]\nstop_grace = nan",
        "[run]\nstop_grace = inf",
        "[files]\nread = ['relative']",
        "[files]\nwrite = ['']",
        "[files]\ndeny = ['~someone/else']",
        "[files]\nread = ['$HOME']",
        '[files]\nread = ["/a\\u0000b"]',
        "[environment]\ninherit = ['A-B']",
        "[environment]\ninherit = ['A=B']",
        "[environment]\ninherit = ['']",
    ],
)
def test_a_value_of_no_use_is_refused(tmp_path: Path, text: str) -> None:
    refusal(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "key", "known"),
    [
        ("[run]\narchive = 'allways'", "run.archive: 'allways'", "always, ask, never"),
        ("[vault]\nstore = 'disk'", "vault.store: 'disk'", "auto, keyring, file"),
        (
            "[seed]\ninclude = ['skills', 'hooks']",
            "seed.include: 'hooks'",
            "settings, commands, agents, skills, instructions, mcp",
        ),
    ],
)
def test_where_only_some_words_are_known_the_refusal_lists_them(
    tmp_path: Path, text: str, key: str, known: str
) -> None:
    error = refusal(tmp_path, text)
    assert key in error.message
    assert error.hint == f"known: {known}"


@pytest.mark.parametrize(
    "host",
    [
        "*",
        "*.com",
        "com",
        "https://example.org",
        "example.org/path",
        "example.org:0",
        "example.org:65536",
        "example.org:x",
        "a..b",
        ".example.org",
        "example.org.",
        "ex*mple.org",
        "user@example.org",
        "exa mple.org",
        "::1",
        "",
    ],
)
def test_what_the_sandbox_takes_for_no_host_is_refused(tmp_path: Path, host: str) -> None:
    assert repr(host) in refusal(tmp_path, f"[network]\nallow = ['{host}']").message


def keys() -> dict[str, list[str]]:
    tables = {field.name: field.type for field in msgspec.structs.fields(Config)}
    return {
        name: [field.name for field in msgspec.structs.fields(table)]
        for name, table in tables.items()
    }


@given(
    table=st.sampled_from(sorted(keys())),
    key=st.text("abcdefghijklmnopqrstuvwxyz_", min_size=1, max_size=12),
    value=st.sampled_from(["1", "true", "[]", "'x'", "{}", "1979-05-27"]),
)
def test_no_misspelt_key_is_passed_over(
    tmp_path_factory: pytest.TempPathFactory, table: str, key: str, value: str
) -> None:
    if key in keys()[table]:
        return
    error = refusal(tmp_path_factory.mktemp("c"), f"[{table}]\n{key} = {value}")
    assert f"unknown key '{table}.{key}'" in error.message


@given(text=st.text(max_size=60) | st.binary(max_size=60))
def test_no_content_at_all_ends_in_anything_but_a_configuration_or_a_refusal(
    tmp_path_factory: pytest.TempPathFactory, text: Any
) -> None:
    with contextlib.suppress(ConfigError):
        assert isinstance(load(tmp_path_factory.mktemp("c"), text), Config)
