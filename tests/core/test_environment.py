"""What of the caller's environment a run is given: what is named, and nothing else."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeroom.environment import ALLOWED, allowed

HARMFUL = [
    *("CLAUDE_CONFIG_DIR", "CLAUDE_SECURESTORAGE_CONFIG_DIR", "CLAUDE_CODE_TMPDIR"),
    *("CLAUDE_CODE_CHILD_SESSION", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "CODEX_HOME"),
    *("OPENAI_API_KEY", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "NODE_OPTIONS", "NODE_PATH"),
    *("LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONSTARTUP", "BASH_ENV", "ENV"),
    *("HTTP_PROXY", "https_proxy", "NO_PROXY", "SSH_AUTH_SOCK", "GPG_AGENT_INFO", "DISPLAY"),
    *("WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "GIT_DIR", "GIT_CONFIG_COUNT", "GIT_SSH"),
    *("AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "npm_config_prefix", "IFS", "PS4", "PROMPT_COMMAND"),
    *("BASH_FUNC_ls%%", "SHELLOPTS", "BASHOPTS", "OSTYPE", "HOME", "TMPDIR", "PWD", "OLDPWD"),
    *("HOMEROOM_HOME", "HOMEROOM_RUN", "SANDBOX_RUNTIME", "TMUX", "IS_SANDBOX"),
]


@pytest.mark.parametrize("name", HARMFUL)
def test_what_breaks_isolation_stays_out(name: str) -> None:
    assert name not in allowed({name: "value"}, [])


names = st.sampled_from([*sorted(ALLOWED), *HARMFUL, "LC_ALL", "LC_", "lang"]) | st.text(
    st.characters(exclude_characters="=\0", exclude_categories=["Cs"]), min_size=1, max_size=12
)


@given(environ=st.dictionaries(names, st.text(max_size=20), max_size=8))
def test_only_named_variables_come_through_and_unchanged(environ: dict[str, str]) -> None:
    before = dict(environ)
    taken = allowed(environ, [])
    assert environ == before
    expected = {
        name: value
        for name, value in environ.items()
        if (name in ALLOWED or name.startswith("LC_")) and name != "PATH"
    }
    del taken["PATH"]
    assert taken == expected


@given(
    entries=st.lists(st.sampled_from(["/a", "/b", ".", "", "..", "bin", "./x", "~/bin"])),
    tools=st.lists(st.sampled_from(["/tools", "/a"]), max_size=2),
)
def test_a_path_holds_the_callers_own_first_and_nothing_relative(
    entries: list[str], tools: list[str]
) -> None:
    found = allowed({"PATH": os.pathsep.join(entries)}, tools)["PATH"].split(os.pathsep)
    expected = list(dict.fromkeys(e for e in [*entries, *tools] if e.startswith("/")))
    assert [entry for entry in found if entry] == expected


def test_without_a_path_the_systems_own_is_used() -> None:
    assert allowed({}, ["/tools"])["PATH"] == f"{os.defpath}{os.pathsep}/tools"
