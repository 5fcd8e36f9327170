"""The man page and the completions say what the parser says."""

import runpy
import subprocess
from importlib import resources
from pathlib import Path

import pytest

from homeroom.cli import main as cli
from tests.conftest import PrivateHome
from tests.support.cli import run_homeroom

SCRIPT = Path(__file__).parent.parent.parent / "scripts" / "generate_shell_files.py"
SHIPPED = resources.files("homeroom.data") / "shell"
FILES = {"bash": "homeroom.bash", "zsh": "_homeroom", "fish": "homeroom.fish"}


def test_every_file_is_what_the_parser_gives() -> None:
    made = runpy.run_path(str(SCRIPT))["render"](cli._parser())
    shipped = {file.name: file.read_text() for file in SHIPPED.iterdir()}
    assert shipped == made, "run: python scripts/generate_shell_files.py"


def test_a_new_option_changes_every_file() -> None:
    parser = cli._parser()
    parser.add_argument("--brand-new", help="never seen")
    made = runpy.run_path(str(SCRIPT))["render"](parser)
    assert [name for name, text in made.items() if "brand" not in text] == []


@pytest.mark.parametrize("shell", FILES)
def test_the_command_prints_what_is_shipped(private_home: PrivateHome, shell: str) -> None:
    done = run_homeroom("completion", shell, env=private_home.env, cwd=private_home.home)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (SHIPPED / FILES[shell]).read_text()


def test_bash_completes_commands_and_options(private_home: PrivateHome) -> None:
    script = """
        eval "$(python -m homeroom completion bash)"
        complete_line() {
            COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
            COMPREPLY=()
            _shtab_homeroom homeroom "${!#}" "${COMP_WORDS[COMP_CWORD - 1]}"
            printf '%s\\n' "${COMPREPLY[@]}"
        }
        complete_line homeroom swe
        complete_line homeroom sweep --dry
    """
    done = subprocess.run(
        ["bash", "-c", script], env=private_home.env, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["sweep", "--dry-run"], done.stderr


def test_the_man_page_names_every_command() -> None:
    page = (SHIPPED / "homeroom.1").read_text().replace("\\-", "-")
    commands = next(it for it in cli._parser()._actions if isinstance(it.choices, dict)).choices
    assert [name for name in commands or () if f"'homeroom {name}'" not in page] == []
