"""Who the user is to git: carried, and nothing else of their configuration."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from homeroom import git
from tests.support.tree import snapshot


def environment(home: Path, **more: str) -> dict[str, str]:
    return {"HOME": str(home), "PATH": os.environ["PATH"], **more}


def configure(home: Path, text: str) -> dict[str, str]:
    home.mkdir(exist_ok=True)
    (home / ".gitconfig").write_text(text, encoding="utf-8")
    return environment(home)


def understood(text: str, directory: Path, key: str) -> str | None:
    """Ask git what a configuration says."""
    path = directory / "understood"
    path.write_text(text, encoding="utf-8")
    done = subprocess.run(
        ["git", "config", "--file", str(path), "--null", "--get", key],
        env=environment(directory),
        capture_output=True,
        check=False,
        cwd=directory,
    )
    return done.stdout.decode().removesuffix("\0") if done.returncode == 0 else None


def test_name_and_address_are_carried_and_nothing_else(tmp_path: Path) -> None:
    environ = configure(
        tmp_path / "home",
        "[user]\n\tname = A B\n\temail = a@example.invalid\n\tsigningkey = ABCD\n"
        "[credential]\n\thelper = !steal\n[core]\n\tfsmonitor = steal\n\tpager = steal\n"
        "[alias]\n\tx = !steal\n[http]\n\textraheader = Authorization: secret\n",
    )
    before = snapshot(tmp_path)
    carried = git.identity(environ)
    assert snapshot(tmp_path) == before
    assert carried == '[user]\n\tname = "A B"\n\temail = "a@example.invalid"\n'


@pytest.mark.parametrize("text", ["", "[user]\n\tsigningkey = ABCD\n", "[core]\n\teditor = vi\n"])
def test_someone_without_a_name_gets_none(tmp_path: Path, text: str) -> None:
    assert git.identity(configure(tmp_path / "home", text)) == ""


def test_without_a_configuration_or_git_or_home_there_is_none(tmp_path: Path) -> None:
    environ = configure(tmp_path / "home", "[user]\n\tname = A\n")
    assert git.identity({**environ, "PATH": str(tmp_path)}) == ""
    assert git.identity({**environ, "HOME": str(tmp_path / "nothing")}) == ""
    assert git.identity({"PATH": environ["PATH"]}) == ""


def test_a_broken_configuration_is_not_carried(tmp_path: Path) -> None:
    assert git.identity(configure(tmp_path / "home", "[user\n\tname = A\n")) == ""


def test_a_name_from_an_included_file_counts(tmp_path: Path) -> None:
    environ = configure(tmp_path / "home", "[include]\n\tpath = more\n")
    (tmp_path / "home" / "more").write_text("[user]\n\tname = From More\n")
    assert understood(git.identity(environ), tmp_path, "user.name") == "From More"


def test_the_last_of_several_counts_as_it_does_for_git(tmp_path: Path) -> None:
    environ = configure(tmp_path / "home", "[user]\n\tname = First\n\tname = Last\n")
    assert understood(git.identity(environ), tmp_path, "user.name") == "Last"


def test_variables_that_move_gits_configuration_are_not_obeyed(tmp_path: Path) -> None:
    environ = configure(tmp_path / "home", "[user]\n\tname = Real\n")
    (tmp_path / "other").write_text("[user]\n\tname = Other\n")
    moved = {**environ, "GIT_CONFIG_GLOBAL": str(tmp_path / "other"), "GIT_DIR": "/nowhere"}
    assert "Real" in git.identity(moved)


@settings(max_examples=40)
@given(
    name=st.text(
        st.characters(exclude_characters="\0\r", exclude_categories=["Cs"]),
        min_size=1,
        max_size=20,
    )
)
def test_any_name_comes_through_as_it_is(
    tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    base = tmp_path_factory.mktemp("g")
    environ = environment(base)
    path = str(base / ".gitconfig")
    subprocess.run(
        ["git", "config", "--file", path, "user.name", name], env=environ, check=True, cwd=base
    )
    text = git.identity(environ)
    assert understood(text, base, "user.name") == name
    assert text.count("\n[") == 0
