"""The precedence of credentials, row by row."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from homeroom import choice, provider
from homeroom.choice import Chosen, Wish
from homeroom.config import Config, Run
from homeroom.credential.secret import Credential, Secret
from homeroom.credential.vault import open_vault
from homeroom.errors import CredentialError, UsageError
from homeroom.paths import locate
from homeroom.request import Request
from tests.login.conftest import KEY, OTHER_KEY, TOKEN, grant_text
from tests.support.tree import snapshot

Change = Callable[[Wish], Wish]


@pytest.fixture
def wish(tmp_path: Path) -> Wish:
    """What a user wishes who has set nothing at all."""
    environ = {"HOME": str(tmp_path), "HOMEROOM_HOME": str(tmp_path / "r")}
    adapter = provider.get("claude")
    return Wish(Request("claude"), adapter, environ, tmp_path, locate(environ), Config())


def flagged(wish: Wish) -> Wish:
    return asking(with_env(wish, MY_KEY="sk-flag"), api_key_env="MY_KEY")


def unwanted(wish: Wish) -> Wish:
    return asking(wish, use_credentials=False)


def key_in_env(wish: Wish) -> Wish:
    return with_env(wish, HOMEROOM_CLAUDE_API_KEY=f"  {KEY}\n")


def token_in_env(wish: Wish) -> Wish:
    return with_env(wish, HOMEROOM_CLAUDE_TOKEN=TOKEN)


def named(wish: Wish) -> Wish:
    kept(wish, "work", OTHER_KEY)
    return asking(wish, profile="work")


def default_in_vault(wish: Wish) -> Wish:
    return kept(wish, "default", KEY)


def own_login(wish: Wish) -> Wish:
    directory = wish.user_home / ".claude"
    directory.mkdir(exist_ok=True)
    (directory / ".credentials.json").write_text(grant_text(1))
    return wish


def asking(wish: Wish, **changes: object) -> Wish:
    return replace(wish, request=replace(wish.request, **changes))


def with_env(wish: Wish, **more: str) -> Wish:
    return replace(wish, environ={**wish.environ, **more})


def kept(wish: Wish, profile: str, key: str) -> Wish:
    credential = Credential("api-key", Secret(key), "a test")
    open_vault(wish.paths, "file").put(wish.provider.name, profile, credential)
    return wish


# From the top: what gives each row a credential, and how the row calls itself.
ROWS: list[tuple[Change, str, str]] = [
    (unwanted, "flag", "--no-credentials"),
    (flagged, "flag", "--api-key-env MY_KEY"),
    (key_in_env, "environment", "HOMEROOM_CLAUDE_API_KEY"),
    (token_in_env, "environment", "HOMEROOM_CLAUDE_TOKEN"),
    (named, "profile", "profile work (--profile)"),
    (default_in_vault, "vault", "homeroom's vault, profile default"),
    (own_login, "store", "claude's own login, in "),
]


def everything_from(row: int, wish: Wish) -> Wish:
    for change, _, _ in ROWS[row:]:
        wish = change(wish)
    return wish


@pytest.mark.parametrize("row", range(len(ROWS)))
def test_each_row_comes_before_all_that_follow(wish: Wish, row: int) -> None:
    wish = everything_from(row, wish)
    _, origin, source = ROWS[row]
    chosen = choice.choose(wish)
    assert chosen.origin == origin
    assert chosen.source.startswith(source)
    states = [shown.state for shown in choice.rows(wish)]
    assert states == ["absent"] * row + ["used"] + ["present"] * (len(ROWS) - row - 1)


@pytest.mark.parametrize("row", range(len(ROWS)))
def test_each_row_can_decide_alone(wish: Wish, row: int) -> None:
    change, origin, source = ROWS[row]
    wish = change(wish)
    assert choice.choose(wish).origin == origin
    used = [shown for shown in choice.rows(wish) if shown.state == "used"]
    assert [shown.source.startswith(source) for shown in used] == [True]


def test_the_table_has_these_rows_in_this_order(wish: Wish) -> None:
    shown = [(row.origin, row.source) for row in choice.rows(everything_from(0, wish))]
    assert [origin for origin, _ in shown] == [origin for _, origin, _ in ROWS]
    assert all(
        ours.startswith(source) for (_, ours), (_, _, source) in zip(shown, ROWS, strict=True)
    )


def test_nothing_at_all_is_no_error(wish: Wish) -> None:
    assert choice.choose(wish) == Chosen()
    assert {row.state for row in choice.rows(wish)} == {"absent"}


def test_a_look_writes_nothing(wish: Wish) -> None:
    wish = own_login(wish)
    before = snapshot(wish.user_home)
    choice.choose(wish)
    choice.rows(wish)
    assert snapshot(wish.user_home) == before


def test_what_is_taken_is_what_is_there(wish: Wish) -> None:
    def taken(change: Change) -> tuple[str, str]:
        found = choice.choose(change(wish)).credential
        assert found
        return found.kind, found.secret.reveal()

    assert taken(flagged) == ("api-key", "sk-flag")
    assert taken(key_in_env) == ("api-key", KEY)
    assert taken(token_in_env) == ("token", TOKEN)
    assert taken(named) == ("api-key", OTHER_KEY)
    assert taken(default_in_vault) == ("api-key", KEY)
    assert choice.choose(unwanted(wish)).credential is None


def test_the_profile_is_named_by_option_then_variable_then_configuration(wish: Wish) -> None:
    for name in ("one", "two", "three"):
        kept(wish, name, KEY)
    wish = replace(wish, config=Config(run=Run(profile="three")))
    assert choice.choose(wish).source == "profile three (run.profile)"
    wish = with_env(wish, HOMEROOM_PROFILE="two")
    assert choice.choose(wish).source == "profile two (HOMEROOM_PROFILE)"
    wish = asking(wish, profile="one")
    assert choice.choose(wish).source == "profile one (--profile)"
    assert choice.choose(wish).profile == "one"


def test_a_named_profile_without_an_entry_is_an_error_not_another_account(wish: Wish) -> None:
    wish = asking(own_login(default_in_vault(wish)), profile="nowhere")
    with pytest.raises(CredentialError, match="for the profile nowhere") as caught:
        choice.choose(wish)
    assert "homeroom login claude --profile nowhere" in str(caught.value.hint)
    rows = choice.rows(wish)
    assert [row.state for row in rows][-3:] == ["unusable", "present", "present"]
    assert "used" not in [row.state for row in rows]


@pytest.mark.parametrize(
    "name", ["", "Work", "../x", "a/b", ".hidden", "-x", "a b", "a\n", "x" * 65, "ä"]
)
def test_what_cannot_be_a_profile_is_refused(wish: Wish, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be a profile's name"):
        choice.choose(asking(wish, profile=name))


def test_an_empty_variable_is_absent(wish: Wish) -> None:
    wish = with_env(wish, HOMEROOM_CLAUDE_API_KEY=" ", HOMEROOM_PROFILE="")
    assert choice.choose(wish) == Chosen()


def test_an_empty_variable_that_was_named_is_an_error(wish: Wish) -> None:
    with pytest.raises(CredentialError, match="not set or empty"):
        choice.choose(asking(own_login(wish), api_key_env="MY_KEY"))


@pytest.mark.parametrize("name", ["HOMEROOM_CLAUDE_API_KEY", "HOMEROOM_CLAUDE_TOKEN"])
def test_a_variable_that_holds_something_else_is_named_and_not_shown(wish: Wish, name: str) -> None:
    with pytest.raises(CredentialError, match=name) as caught:
        choice.choose(own_login(with_env(wish, **{name: "hunter2-hunter2"})))
    assert "hunter2" not in f"{caught.value.message} {caught.value.hint}"


def test_a_logged_out_stub_is_absent(wish: Wish) -> None:
    own_login(wish)
    blank = {"accessToken": "", "refreshToken": "", "expiresAt": 0}
    path = wish.user_home / ".claude" / ".credentials.json"
    path.write_text(json.dumps({"claudeAiOauth": blank}))
    assert choice.choose(wish) == Chosen()
    assert choice.rows(wish)[-1].state == "absent"


def test_a_damaged_store_is_named_and_hides_nothing_above_it(wish: Wish) -> None:
    path = own_login(wish).user_home / ".claude" / ".credentials.json"
    path.write_text('{"claudeAiOauth": {"accessToken": "sk-ant-oat01-broken')
    with pytest.raises(CredentialError, match="not valid JSON"):
        choice.choose(wish)
    rows = choice.rows(default_in_vault(wish))
    assert [row.state for row in rows][-2:] == ["used", "unusable"]
    assert "sk-ant" not in str(rows)


def test_the_demo_gets_no_real_credential_but_one_that_was_named(wish: Wish) -> None:
    wish = asking(everything_from(2, wish), endpoint="http://127.0.0.1:1")
    chosen = choice.choose(wish)
    assert chosen.origin == "demo"
    assert chosen.credential == wish.provider.demo_credential()
    assert choice.choose(flagged(wish)).source == "--api-key-env MY_KEY"
    assert choice.choose(unwanted(wish)).credential is None


def test_the_other_agent_has_variables_of_its_own(wish: Wish) -> None:
    wish = replace(wish, provider=provider.get("codex"))
    key = "sk-proj-0123456789-abcdefghij"
    wish = with_env(wish, HOMEROOM_CODEX_API_KEY=key, HOMEROOM_CLAUDE_API_KEY=KEY)
    found = choice.choose(wish).credential
    assert found
    assert found.secret.reveal() == key
    with pytest.raises(CredentialError, match="no long-lived tokens"):
        choice.choose(with_env(wish, HOMEROOM_CODEX_API_KEY="", HOMEROOM_CODEX_TOKEN=TOKEN))


def test_no_secret_can_be_read_off_the_choice(wish: Wish) -> None:
    wish = everything_from(2, wish)
    shown = f"{wish} {choice.choose(wish)} {choice.rows(wish)}"
    assert not [secret for secret in (KEY, OTHER_KEY, TOKEN) if secret in shown]
