"""Which of the user's own Codex files can be carried into a room."""

from collections.abc import MutableMapping, Sequence
from pathlib import Path
from typing import Any

from homeroom.errors import CredentialError
from homeroom.provider import common
from homeroom.provider.values import SeedFile
from homeroom.redact import redact

# Keys that run a program of the user's.
_PROGRAMS = ("hooks", "notify")
# Keys that hold, or lead to, a credential.
_SECRETS = (
    "env",
    "env_http_headers",
    "experimental_bearer_token",
    "http_headers",
    "bearer_token_env_var",
)


def preferences(
    directory: Path, user_home: Path, names: Sequence[str], *, hooks: bool
) -> Sequence[SeedFile]:
    """Give chosen preferences as files for a room.

    Args:
        directory: The user's ``CODEX_HOME``.
        user_home: The user's real home.
        names: Which; see ``Provider.preferences``.
        hooks: Whether settings that run programs come along.

    Raises:
        CredentialError: A file cannot be read; it is named.
    """
    seeds: list[SeedFile] = []
    if "settings" in names or "mcp" in names:
        text = common.read_user_text(directory / "config.toml")
        if text:
            kept = _config(text, directory, names, hooks=hooks)
            seeds.append(SeedFile(".codex/config.toml", content=redact(kept.encode())))
    if "instructions" in names:
        text = common.read_user_text(directory / "AGENTS.md")
        seeds += [SeedFile(".codex/AGENTS.md", content=text.encode())] if text else []
    if "skills" in names:
        seeds += common.copy_tree(directory / "skills", ".codex/skills")
        seeds += common.copy_tree(user_home / ".agents" / "skills", ".agents/skills")
    return seeds


def _config(text: str, directory: Path, names: Sequence[str], *, hooks: bool) -> str:
    """Edit a copy of the user's file, comments and order kept."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document: Any = tomlkit.parse(text)
    except (TOMLKitError, RecursionError) as error:
        path = directory / "config.toml"
        raise CredentialError(
            f"{path} is not valid TOML: {type(error).__name__}", "leave it out of [seed]"
        ) from None
    if "settings" not in names:
        for key in [key for key in document if key != "mcp_servers"]:
            del document[key]
    if "mcp" not in names:
        document.pop("mcp_servers", None)
    # The room decides whom it trusts.
    document.pop("projects", None)
    for key in () if hooks else _PROGRAMS:
        document.pop(key, None)
    for section in ("mcp_servers", "model_providers"):
        for entry in document.get(section, {}).values():
            _drop_secrets(entry)
    return tomlkit.dumps(document)


def _drop_secrets(table: object) -> None:
    if isinstance(table, MutableMapping):
        for key in _SECRETS:
            table.pop(key, None)
