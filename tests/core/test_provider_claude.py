"""The adapter for Claude Code, as far as files show it: the CLI itself runs elsewhere."""

import itertools
import json
import os
import pickle
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeroom import provider
from homeroom.credential.secret import Credential, Secret
from homeroom.errors import CredentialError, StateError, StorageError, UsageError
from homeroom.provider.claude import Claude
from homeroom.provider.common import apply
from homeroom.provider.values import Room
from homeroom.trash import remove_tree
from homeroom.workspace import Workspace
from tests.core.kinds import NOT_A_FILE, dig
from tests.support.tree import snapshot

ACCESS = "sk-ant-" + "oat01-" + "access" * 6
REFRESH = "sk-ant-" + "ort01-" + "refresh" * 6
KEY = "sk-ant-" + "api03-" + "apikey" * 6
GRANT = {
    "accessToken": ACCESS,
    "refreshToken": REFRESH,
    "expiresAt": 4102444800000,
    "scopes": ["user:inference"],
    "subscriptionType": "max",
}
ACCOUNT = {"accountUuid": "0000", "emailAddress": "a@example.invalid"}
KINDS = {
    "oauth": Credential("oauth", Secret(json.dumps(GRANT)), "a file", json.dumps(ACCOUNT)),
    "token": Credential("token", Secret(ACCESS), "a variable"),
    "api-key": Credential("api-key", Secret(KEY), "a variable"),
}
STATE = ".claude/.claude.json"
CREDENTIALS = ".claude/.credentials.json"


def room_in(home: Path) -> Room:
    place = Workspace(Path("/w/sub"), Path("/w"), (Path("/w/.git"),), (Path("/w/sub"), Path("/w")))
    return Room(home, place, "2.1.332", Path("/tools/claude"))


@pytest.fixture
def room(tmp_path: Path) -> Room:
    (tmp_path / "room").mkdir(mode=0o700)
    return room_in(tmp_path / "room")


@pytest.fixture
def user(tmp_path: Path) -> Path:
    """The user's own home, logged in."""
    home = tmp_path / "user"
    (home / ".claude").mkdir(parents=True)
    (home / CREDENTIALS).write_text(json.dumps({"claudeAiOauth": GRANT, "mcpOAuth": {"x": 1}}))
    (home / ".claude.json").write_text(json.dumps({"oauthAccount": ACCOUNT, "numStartups": 7}))
    return home


def load(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text())
    return content


def seed(room: Room) -> None:
    for file in Claude().seed(room):
        apply(room.home, file)


def contents(home: Path) -> dict[str, Any]:
    return {str(path.relative_to(home)): load(path) for path in home.rglob("*") if path.is_file()}


def test_the_agent_is_known_by_name_and_no_other_is_guessed() -> None:
    assert isinstance(provider.get("claude"), Claude)
    with pytest.raises(UsageError, match="no agent 'Claude'") as told:
        provider.get("Claude")
    assert "claude" in (told.value.hint or "")


def test_a_seeded_room_answers_every_first_question(room: Room) -> None:
    seed(room)
    state = load(room.home / STATE)
    assert state["hasCompletedOnboarding"] is True
    assert state["lastOnboardingVersion"] == "2.1.332"
    assert state["theme"]
    assert state["autoUpdates"] is False
    for root in ("/w/sub", "/w"):
        assert state["projects"][root] == {"hasTrustDialogAccepted": True, "allowedTools": []}
    assert Claude().health_check(room) is None


def test_seeding_is_decided_before_anything_exists(tmp_path: Path) -> None:
    before = snapshot(tmp_path)
    assert Claude().seed(room_in(tmp_path / "nothing"))
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("home", ["", ".", "relative", "/nonexistent/home"])
def test_without_a_room_nothing_is_injected_anywhere(
    user: Path, monkeypatch: pytest.MonkeyPatch, kind: str, home: str
) -> None:
    before = snapshot(user)
    monkeypatch.chdir(user)
    monkeypatch.setattr(os.path, "expanduser", lambda _: str(user))
    with pytest.raises(StateError, match="no room"):
        Claude().inject(room_in(Path(home)), KINDS[kind])
    assert snapshot(user) == before
    monkeypatch.undo()


@pytest.mark.parametrize("kind", KINDS)
def test_seeding_and_injecting_may_come_in_any_order_and_again(tmp_path: Path, kind: str) -> None:
    results = []
    steps: list[Callable[[Room], object]] = [
        seed,
        lambda room: Claude().inject(room, KINDS[kind]),
    ]
    for number, order in enumerate(
        (*itertools.permutations(steps), (*steps, *steps), (*reversed(steps), *steps))
    ):
        home = tmp_path / str(number)
        home.mkdir()
        for step in order:
            step(room_in(home))
        results.append(contents(home))
    assert all(result == results[0] for result in results)


@pytest.mark.usefixtures("open_umask")
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_was_never_open_to_anyone(
    room: Room, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    made: list[int] = []
    real_open = os.open

    def traced(path: str | Path, flags: int, bits: int = 0o777, **more: int) -> int:
        descriptor = real_open(path, flags, bits, **more)
        if flags & os.O_CREAT:
            made.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        return descriptor

    monkeypatch.setattr(os, "open", traced)
    seed(room)
    Claude().inject(room, KINDS[kind])
    monkeypatch.undo()
    assert made
    assert set(made) == {0o600}
    for entry in snapshot(room.home).values():
        assert entry.mode == (0o700 if entry.kind == "directory" else 0o600)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(
    foreign=st.dictionaries(st.text(max_size=8), json_values, max_size=4),
    kind=st.sampled_from(sorted(KINDS)),
)
def test_keys_that_are_not_homerooms_are_kept(
    tmp_path_factory: pytest.TempPathFactory, foreign: dict[str, Any], kind: str
) -> None:
    room = room_in(tmp_path_factory.mktemp("room"))
    (room.home / ".claude").mkdir(mode=0o700)
    theirs = {f"x{name}": value for name, value in foreign.items()}
    for path in (STATE, CREDENTIALS):
        (room.home / path).write_text(json.dumps(theirs))
    seed(room)
    Claude().inject(room, KINDS[kind])
    for path in (STATE, CREDENTIALS):
        found = load(room.home / path)
        assert {name: found[name] for name in theirs} == theirs


@pytest.mark.parametrize("content", [b"{", b"[]", b"\xff", b"null", b"[" * 100_000])
def test_a_file_of_the_room_that_cannot_be_merged_is_named_and_kept(
    room: Room, content: bytes
) -> None:
    (room.home / ".claude").mkdir(mode=0o700)
    (room.home / CREDENTIALS).write_bytes(content)
    with pytest.raises(StorageError) as told:
        Claude().inject(room, KINDS["oauth"])
    assert str(room.home / CREDENTIALS) in told.value.message
    assert (room.home / CREDENTIALS).read_bytes() == content


def test_a_symlink_in_the_room_is_not_followed(room: Room, user: Path) -> None:
    (room.home / ".claude").symlink_to(user / ".claude")
    before = snapshot(user)
    with pytest.raises(StateError, match="is a symlink"):
        Claude().inject(room, KINDS["oauth"])
    (room.home / ".claude").unlink()
    (room.home / ".claude").mkdir(mode=0o700)
    (room.home / CREDENTIALS).symlink_to(user / CREDENTIALS)
    with pytest.raises(StorageError, match="is a symlink"):
        Claude().inject(room, KINDS["oauth"])
    assert snapshot(user) == before


@pytest.mark.parametrize("kind", KINDS)
def test_no_refresh_token_is_anywhere_in_a_room(room: Room, user: Path, kind: str) -> None:
    credential = Claude().discover({}, user) if kind == "oauth" else KINDS[kind]
    assert credential is not None
    seed(room)
    carried = Claude().inject(room, credential)
    everything = b"".join(path.read_bytes() for path in room.home.rglob("*") if path.is_file())
    assert REFRESH.encode() not in everything
    assert REFRESH not in [value.reveal() for value in carried.values()]


def test_a_grant_keeps_everything_but_its_renewal(room: Room) -> None:
    carried = Claude().inject(room, KINDS["oauth"])
    assert carried == {}
    assert load(room.home / CREDENTIALS) == {"claudeAiOauth": GRANT | {"refreshToken": None}}
    assert load(room.home / STATE) == {"oauthAccount": ACCOUNT}


def test_a_grant_that_says_nothing_of_renewal_says_null(room: Room) -> None:
    grant = {key: value for key, value in GRANT.items() if key != "refreshToken"}
    Claude().inject(room, Credential("oauth", Secret(json.dumps(grant)), "a file"))
    assert load(room.home / CREDENTIALS)["claudeAiOauth"]["refreshToken"] is None


def test_a_key_is_approved_by_its_end_and_carried_in_a_variable_alone(room: Room) -> None:
    carried = Claude().inject(room, KINDS["api-key"])
    assert carried == {"ANTHROPIC_API_KEY": Secret(KEY)}
    assert load(room.home / STATE)["customApiKeyResponses"] == {
        "approved": [KEY[-20:]],
        "rejected": [],
    }
    assert KEY not in (room.home / STATE).read_text()


def test_a_long_lived_token_is_carried_in_a_variable_alone(room: Room) -> None:
    carried = Claude().inject(room, KINDS["token"])
    assert carried == {"CLAUDE_CODE_OAUTH_TOKEN": Secret(ACCESS)}
    assert contents(room.home) == {}


def test_the_users_login_is_found_and_not_touched(user: Path) -> None:
    before = snapshot(user)
    found = Claude().discover({}, user)
    assert snapshot(user) == before
    assert found is not None
    assert found.kind == "oauth"
    assert json.loads(found.secret.reveal()) == GRANT
    assert found.source == str(user / CREDENTIALS)
    assert json.loads(found.account or "") == ACCOUNT
    assert found.expires_at == 4102444800


def test_what_is_found_shows_no_secret(user: Path) -> None:
    found = Claude().discover({}, user)
    shown = f"{found} {found!r} {[found]} {found.__dict__}"
    assert ACCESS not in shown
    assert REFRESH not in shown
    with pytest.raises(TypeError):
        pickle.dumps(found)
    assert found is not None
    assert set(found.values()) == {ACCESS, REFRESH}


@pytest.mark.parametrize(
    "grant",
    [
        None,
        {},
        {"accessToken": "", "refreshToken": "", "expiresAt": 0},
        {"accessToken": None},
        "text",
        [],
    ],
)
def test_a_logged_out_stub_is_no_login(user: Path, grant: object) -> None:
    (user / CREDENTIALS).write_text(json.dumps({"claudeAiOauth": grant}))
    assert Claude().discover({}, user) is None


def test_someone_who_never_logged_in_has_no_login(tmp_path: Path) -> None:
    assert Claude().discover({}, tmp_path) is None
    assert Claude().discover({}, tmp_path / "nothing") is None


@pytest.mark.parametrize("state", [None, "{}", '{"oauthAccount": null}', '{"oauthAccount": 1}'])
def test_a_login_without_a_remembered_account_will_do(user: Path, state: str | None) -> None:
    if state is None:
        (user / ".claude.json").unlink()
    else:
        (user / ".claude.json").write_text(state)
    found = Claude().discover({}, user)
    assert found is not None
    assert found.account is None


@pytest.mark.parametrize(
    ("moved", "credentials", "state"),
    [
        ({"CLAUDE_CONFIG_DIR": "{}/other"}, "other/.credentials.json", "other/.claude.json"),
        ({"CLAUDE_SECURESTORAGE_CONFIG_DIR": "{}/s"}, "s/.credentials.json", ".claude.json"),
        ({"CLAUDE_CONFIG_DIR": ""}, CREDENTIALS, ".claude.json"),
    ],
)
def test_a_store_that_was_moved_is_found_and_named(
    tmp_path: Path, moved: dict[str, str], credentials: str, state: str
) -> None:
    environ = {name: value.format(tmp_path) for name, value in moved.items()}
    for path in (credentials, state):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / credentials).write_text(json.dumps({"claudeAiOauth": GRANT}))
    (tmp_path / state).write_text(json.dumps({"oauthAccount": ACCOUNT}))
    found = Claude().discover(environ, tmp_path)
    assert found is not None
    assert found.source == str(tmp_path / credentials)
    assert found.account is not None
    store = Claude().master_store(environ, tmp_path)
    assert {tmp_path / credentials, tmp_path / state} <= set(store.secrets)
    for secret in store.secrets:
        assert any(secret.is_relative_to(root) for root in store.roots)
    assert tmp_path / ".claude" in store.roots


def _huge(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 40)


CORRUPT: dict[str, Callable[[Path], object]] = {
    **NOT_A_FILE,
    "empty": lambda path: path.write_bytes(b""),
    "truncated": lambda path: path.write_text(json.dumps({"claudeAiOauth": GRANT})[:-9]),
    "no object": lambda path: path.write_text("[]"),
    "no UTF-8": lambda path: path.write_bytes(b'{"claudeAiOauth": "\xff"}'),
    "a byte order mark": lambda path: path.write_bytes(b"\xef\xbb\xbf{}"),
    "deep": lambda path: path.write_bytes(b"[" * 200_000),
    "huge": _huge,
}


@pytest.mark.parametrize("kind", CORRUPT)
@pytest.mark.parametrize("which", ["credentials", "state"])
def test_a_corrupt_store_is_named_and_left_alone(tmp_path: Path, which: str, kind: str) -> None:
    (tmp_path / "own").mkdir()
    environ = {
        "CLAUDE_CONFIG_DIR": str(tmp_path / "own"),
        "CLAUDE_SECURESTORAGE_CONFIG_DIR": str(tmp_path / "secure"),
    }
    (tmp_path / "secure").mkdir()
    credentials, state = tmp_path / "secure/.credentials.json", tmp_path / "own/.claude.json"
    broken = {"credentials": credentials, "state": state}[which]
    if which == "state":
        credentials.write_text(json.dumps({"claudeAiOauth": GRANT}))
    CORRUPT[kind](broken)
    before = snapshot(tmp_path, contents=False)
    with pytest.raises(CredentialError) as told:
        Claude().discover(environ, tmp_path)
    assert snapshot(tmp_path, contents=False) == before
    assert str(broken) in told.value.message
    assert told.value.hint
    error: BaseException | None = told.value
    while error is not None:
        assert ACCESS not in f"{error!r}"
        assert REFRESH not in f"{error!r} {getattr(error, 'doc', '')}"
        error = None if error.__suppress_context__ else error.__context__


@pytest.mark.parametrize("expires", ["soon", -1, float("inf"), float("nan"), 10**400, [], 1e300])
def test_an_expiry_that_is_no_time_is_named(user: Path, expires: object) -> None:
    (user / CREDENTIALS).write_text(json.dumps({"claudeAiOauth": GRANT | {"expiresAt": expires}}))
    with pytest.raises(CredentialError) as told:
        Claude().discover({}, user)
    assert str(user / CREDENTIALS) in told.value.message


def test_transcripts_are_found_wherever_the_agent_keeps_them(room: Room) -> None:
    projects = room.home / ".claude/projects"
    names = ["-w/a.jsonl", "-w/a/subagents/b.jsonl", "-x/c.jsonl"]
    for name in (*names, "-w/notes.txt", "-w/memory/MEMORY.md"):
        (projects / name).parent.mkdir(parents=True, exist_ok=True)
        (projects / name).touch()
    assert Claude().transcripts(room.home) == sorted(projects / name for name in names)


def test_a_room_without_transcripts_has_none(room: Room) -> None:
    assert Claude().transcripts(room.home) == []
    seed(room)
    assert Claude().transcripts(room.home) == []


def test_no_tree_that_an_agent_digs_keeps_transcripts_from_being_found(
    room: Room, user: Path
) -> None:
    projects = room.home / ".claude/projects"
    (projects / "-w").mkdir(parents=True)
    (projects / "-w/a.jsonl").touch()
    (projects / "loop").symlink_to("..")
    (projects / "out").symlink_to(user)
    (user / "x.jsonl").touch()
    (projects / "deep").mkdir()
    dig(projects / "deep", 1200)
    try:
        assert Claude().transcripts(room.home) == [projects / "-w/a.jsonl"]
    finally:
        remove_tree(projects / "deep")


def test_transcripts_behind_a_symlink_are_none(room: Room, user: Path) -> None:
    (user / "p/-w").mkdir(parents=True)
    (user / "p/-w/a.jsonl").touch()
    (room.home / ".claude").mkdir()
    (room.home / ".claude/projects").symlink_to(user / "p")
    assert Claude().transcripts(room.home) == []


def test_the_environment_pins_the_room_and_switches_updates_off(room: Room) -> None:
    values = Claude().environment(room)
    assert values["CLAUDE_CONFIG_DIR"] == str(room.home / ".claude")
    assert values["DISABLE_AUTOUPDATER"] == "1"
    assert "ANTHROPIC_BASE_URL" not in values
    assert not [value for value in values.values() if not value]


def test_the_token_host_stays_out_so_that_no_grant_rotates(room: Room) -> None:
    hosts = Claude().needs(room).hosts
    assert hosts
    assert not [host for host in hosts if "platform" in host or "console" in host]


def test_the_arguments_are_the_users_own(room: Room) -> None:
    words = ["-p", "", "a b", "--", "--version"]
    assert list(Claude().command(room, words)) == ["/tools/claude", *words]


def test_the_demos_credential_is_worth_nothing_and_opens_no_dialog(room: Room) -> None:
    demo = Claude().demo_credential()
    assert "demo" in demo.secret.reveal()
    assert Claude().inject(room, demo)
