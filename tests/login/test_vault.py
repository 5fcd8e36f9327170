"""The vault as a store: what is kept, how, and what happens when it is damaged."""

import json
import multiprocessing
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeroom.credential import document
from homeroom.credential.secret import Credential, CredentialKind, Secret
from homeroom.credential.vault import Vault, open_vault
from homeroom.errors import CredentialError, HomeroomError, StateError
from homeroom.paths import Paths, locate
from tests.login.conftest import KEY, OTHER_KEY, grant

GRANT = json.dumps(grant(1))


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return locate({"HOMEROOM_HOME": str(tmp_path / "r")})


@pytest.fixture
def vault(paths: Paths) -> Vault:
    return open_vault(paths, "file")


def credential(text: str = KEY, kind: CredentialKind = "api-key") -> Credential:
    return Credential(kind, Secret(text), "a test")


def the_file(paths: Paths) -> Path:
    return paths.state / "vault" / "files" / "claude" / "default.json"


def test_what_was_put_is_got(vault: Vault) -> None:
    account = json.dumps({"accountUuid": "me"})
    whole = Credential("oauth", Secret(GRANT), "a test", account, 4102444800.5)
    entry = vault.put("claude", "default", whole)
    found = vault.get("claude", "default")
    assert found
    assert (found.kind, found.secret, found.account, found.expires_at) == (
        "oauth",
        whole.secret,
        account,
        4102444800.5,
    )
    assert found.source == "homeroom's vault (file), profile default"
    assert (entry.kind, entry.digest) == ("oauth", whole.secret.digest())
    assert entry.expires_at == whole.expires_at


def test_entries_are_told_apart_by_provider_and_profile(vault: Vault) -> None:
    names = [("claude", "default"), ("claude", "work"), ("codex", "default")]
    for number, name in enumerate(names):
        vault.put(*name, credential(f"{KEY}{number}"))
    found = [vault.get(*name) for name in names]
    assert [each and each.secret.reveal()[-1] for each in found] == ["0", "1", "2"]
    assert [entry.key for entry in vault.entries()] == names
    assert vault.get("codex", "work") is None


def test_a_later_login_replaces_the_earlier_one(vault: Vault) -> None:
    vault.put("claude", "default", credential(KEY))
    vault.put("claude", "default", credential(OTHER_KEY))
    found = vault.get("claude", "default")
    assert found
    assert found.secret.reveal() == OTHER_KEY
    assert len(vault.entries()) == 1


def test_deleting_tells_whether_there_was_one(vault: Vault, paths: Paths) -> None:
    assert vault.delete("claude", "default") is False
    assert not paths.state.exists()
    vault.put("claude", "default", credential())
    assert vault.delete("claude", "default") is True
    assert vault.delete("claude", "default") is False
    assert not the_file(paths).exists()
    assert vault.entries() == ()


@pytest.fixture
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("open_umask")
def test_everything_is_private_whatever_the_umask(vault: Vault, paths: Paths) -> None:
    vault.put("claude", "default", credential())
    modes = {(path.is_dir(), stat.S_IMODE(path.lstat().st_mode)) for path in paths.state.rglob("*")}
    assert modes == {(True, 0o700), (False, 0o600)}


def test_only_the_file_holds_the_secret(vault: Vault, paths: Paths) -> None:
    vault.put("claude", "default", credential())
    holding = [
        path for path in paths.state.rglob("*") if path.is_file() and KEY in path.read_text()
    ]
    assert holding == [the_file(paths)]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b'{"schema": 1}',
        b'{"schema": 0, "kind": "api-key", "secret": "hunter2"}',
        b'{"schema": 1, "kind": "api-key", "secret": ""}',
        b'{"schema": 1, "kind": "hunter2", "secret": "hunter2"}',
        b'{"schema": 1, "kind": "api-key", "secret": "hunter2", "more": 1}',
        b'{"schema": 1, "kind": "api-key", "secret": ["hunter2"]}',
        b'{"schema": 1, "kind": "api-key", "secret": "hunter2", "expires_at": 1e999}',
        b'{"schema": 1, "kind": "oauth", "secret": "hunter2"}',
        b'{"schema": 1, "kind": "oauth", "secret": "[]"}',
        b'{"schema": 1, "kind": "oauth", "secret": "{}", "account": "hunter2"}',
        b'{"schema": 1, "kind": "api-key", "secret": "hunter2"} x',
        b"[" * 100_000,
        b'{"schema": 1, "kind": "api-key", "secret": "' + b"x" * 2_000_000 + b'"}',
    ],
)
def test_a_damaged_entry_is_named_and_its_content_is_not_shown(
    vault: Vault, paths: Paths, content: bytes
) -> None:
    vault.put("claude", "default", credential())
    the_file(paths).write_bytes(content)
    with pytest.raises(CredentialError) as caught:
        vault.get("claude", "default")
    said = f"{caught.value.message} {caught.value.hint}"
    assert "claude" in said
    assert "homeroom login" in said
    assert "hunter2" not in said
    # It can be removed all the same.
    assert vault.delete("claude", "default") is True


def test_an_entry_of_a_newer_homeroom_is_told_from_a_damaged_one(
    vault: Vault, paths: Paths
) -> None:
    vault.put("claude", "default", credential())
    the_file(paths).write_text('{"schema": 2, "secrets": {}}')
    with pytest.raises(CredentialError, match="newer homeroom"):
        vault.get("claude", "default")


def test_an_entry_whose_file_is_gone_is_an_error_and_not_nothing(
    vault: Vault, paths: Paths
) -> None:
    vault.put("claude", "default", credential())
    the_file(paths).unlink()
    with pytest.raises(CredentialError, match="is gone"):
        vault.get("claude", "default")


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"\xff", b'{"schema": 2}', b'{"entries": [{}]}', b'{"entries": 1}', b"[" * 99_999],
)
def test_a_damaged_index_is_named_and_left_as_it_is(
    vault: Vault, paths: Paths, content: bytes
) -> None:
    vault.put("claude", "default", credential())
    index = paths.state / "vault" / "index.json"
    index.write_bytes(content)
    for action in (
        vault.entries,
        lambda: vault.get("claude", "default"),
        lambda: vault.put("claude", "default", credential(OTHER_KEY)),
        lambda: vault.delete("claude", "default"),
    ):
        with pytest.raises(CredentialError, match=r"index\.json"):
            action()
    assert index.read_bytes() == content


@pytest.mark.parametrize("kind", ["symlink", "directory", "fifo"])
def test_what_is_no_file_is_not_read(vault: Vault, paths: Paths, kind: str) -> None:
    vault.put("claude", "default", credential())
    path = the_file(paths)
    target = path.rename(path.with_name("moved"))
    if kind == "symlink":
        path.symlink_to(target)
    elif kind == "directory":
        path.mkdir()
    else:
        os.mkfifo(path)
    with pytest.raises(CredentialError, match=str(path)):
        vault.get("claude", "default")


def test_a_vault_that_others_can_look_into_is_refused(vault: Vault, paths: Paths) -> None:
    vault.put("claude", "default", credential())
    the_file(paths).parent.chmod(0o755)
    with pytest.raises(StateError, match="open to other users"):
        vault.get("claude", "default")
    with pytest.raises(StateError, match="open to other users"):
        vault.put("claude", "default", credential(OTHER_KEY))


def test_what_could_not_be_listed_is_not_left_behind(
    vault: Vault, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise StateError("the disk is full")

    monkeypatch.setattr("homeroom.credential.index.Index.set", refuse)
    with pytest.raises(StateError):
        vault.put("claude", "default", credential())
    assert not the_file(paths).exists()


def test_a_renewed_grant_is_kept_only_if_it_is_better(vault: Vault) -> None:
    old, new = credential(GRANT, "oauth"), credential(json.dumps(grant(2)), "oauth")
    assert vault.renew("claude", "default", new, lambda _: True) is False
    vault.put("claude", "default", old)
    assert vault.renew("claude", "default", new, lambda _: False) is False
    found = vault.get("claude", "default")
    assert found
    assert found.secret == old.secret
    assert vault.renew("claude", "default", new, lambda current: current.secret == old.secret)
    found = vault.get("claude", "default")
    assert found
    assert found.secret == new.secret
    assert vault.entries()[0].digest == new.secret.digest()


def put_some(root: str, profile: str) -> None:
    vault = open_vault(locate({"HOMEROOM_HOME": root}), "file")
    for number in range(5):
        vault.put("claude", f"{profile}{number}", credential())


def test_two_homerooms_at_once_lose_no_entry(paths: Paths) -> None:
    fork = multiprocessing.get_context("spawn")
    root = str(paths.state.parent)
    workers = [fork.Process(target=put_some, args=(root, name)) for name in "abc"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    vault = open_vault(paths, "file")
    assert len(vault.entries()) == 15
    assert all(vault.get(*entry.key) for entry in vault.entries())


@given(st.binary(max_size=200))
def test_no_text_crashes_the_decoder(content: bytes) -> None:
    text = content.decode(errors="replace")
    with pytest.raises(HomeroomError):
        document.decode(text, "it", "a test", "a cure")


@given(
    kind=st.sampled_from(["api-key", "token"]),
    secret=st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
    expires_at=st.none() | st.floats(allow_nan=False, allow_infinity=False),
)
def test_every_credential_comes_back_as_it_was(
    kind: CredentialKind, secret: str, expires_at: float | None
) -> None:
    kept = Credential(kind, Secret(secret), "a test", '{"a": 1}', expires_at)
    assert document.decode(document.encode(kept), "it", "a test", "a cure") == kept
