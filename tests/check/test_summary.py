"""The end of what ``homeroom check`` prints: what to do, for whoever reads nothing else."""

from tests.conftest import PrivateHome
from tests.support.cli import run_homeroom


def test_before_setup_the_last_line_is_the_command_to_run(private_home: PrivateHome) -> None:
    words = ("check", "--quick", "--only", "toolchain", "--only", "state")
    done = run_homeroom(*words, env=private_home.env, cwd=private_home.home)
    assert done.returncode == 1
    summary = done.stdout.partition("\nto be mended\n")[2].splitlines()
    assert [line.split()[0] for line in summary] == ["FAIL", "do:"], done.stdout
    assert summary[-1].strip() == "do: homeroom setup"


def test_where_nothing_failed_nothing_is_to_be_mended(private_home: PrivateHome) -> None:
    words = ("check", "--quick", "--only", "state")
    done = run_homeroom(*words, env=private_home.env, cwd=private_home.home)
    assert done.returncode == 0, done.stdout
    assert "to be mended" not in done.stdout
