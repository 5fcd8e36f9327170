"""When Codex without a login can do nothing but try again."""

from collections.abc import Sequence

from homeroom.provider.common import Elsewhere

_ONE_SHOT = ("exec", "e", "review")
# Another model's address.
ELSEWHERE = Elsewhere(
    variables=("OPENAI_", "CODEX_"),
    files=(".codex/config.toml",),
    words=("model_provider", "oss_provider", "base_url"),
)
_OTHER = ("--oss", "--local-provider", "--profile", "-p", "--remote")
_ASK_NOTHING = ("help", "--help", "-h", "--version", "-V")


def asks_once(arguments: Sequence[str]) -> bool:
    """Tell whether arguments have the vendor's model asked for one answer, beyond doubt.

    Args:
        arguments: The user's own for the CLI.
    """
    if not arguments or arguments[0] not in _ONE_SHOT:
        return False
    words = [word.partition("=")[0] for word in arguments[1:]]
    if any(word in _OTHER or word in _ASK_NOTHING for word in words):
        return False
    return not any(word in given for given in arguments for word in ELSEWHERE.words)
