"""Who the user is to git, carried into the room: a commit needs a name."""

import shutil
import subprocess
from collections.abc import Mapping

_TIME_LIMIT = 5.0


def identity(environ: Mapping[str, str]) -> str:
    """Read the user's name and address from their own git configuration.

    Args:
        environ: The caller's environment; its HOME decides which configuration.

    Returns:
        The text of a git configuration file with these two, empty when git is missing or
        knows neither. Nothing else of the user's configuration is carried: it can name
        programs, credential helpers among them.
    """
    program = shutil.which("git", path=environ.get("PATH"))
    if program is None:
        return ""
    try:
        result = subprocess.run(
            [
                program,
                "config",
                "--global",
                "--includes",
                "--null",
                "--get-regexp",
                r"^user\.(name|email)$",
            ],
            env={
                name: environ[name]
                for name in ("HOME", "XDG_CONFIG_HOME", "PATH")
                if name in environ
            },
            cwd="/",
            check=False,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_TIME_LIMIT,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    values: dict[str, str] = {}
    for entry in result.stdout.decode(errors="replace").split("\0"):
        name, _, value = entry.partition("\n")
        if value:
            values[name.removeprefix("user.")] = value
    if not values:
        return ""
    return "[user]\n" + "".join(f"\t{name} = {_quoted(value)}\n" for name, value in values.items())


def _quoted(value: str) -> str:
    # git-config(1), "Syntax": within double quotes these four are escaped.
    for character, escape in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t")):
        value = value.replace(character, escape)
    return f'"{value}"'
