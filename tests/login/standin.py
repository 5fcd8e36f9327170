"""homeroom with one more provider: an agent that is a shell script, and does as it is told.

Run as ``python standin.py ARGUMENT...`` in place of ``python -m homeroom``. The rest of
homeroom, the sandbox and the supervisor are the real ones.
"""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import homeroom.provider
from homeroom.cli.main import main
from homeroom.provider import LoginWay, Needs, Room, SeedFile
from homeroom.provider.claude import Claude

# It keeps its login as Claude Code does. $STANDIN_GRANT is what a login, or a renewal, gives it.
SCRIPT = """
workspace=$PWD
cd "$HOME"
umask 077
renew() { printf '%s' "$STANDIN_GRANT" > .claude/.credentials.json; }
hold() {
    : > "$workspace/held"
    while [ ! -e "$workspace/let-go" ]; do sleep 0.05; done
}
case $1 in
login)
    printf 'Paste code here > '
    read -r code
    [ "$code" = good ] || exit 3
    renew
    printf 'Logged in.\\n'
    ;;
hold) hold ;;
renew) renew ;;
renew-and-hold) renew; hold ;;
modes) stat -c %a .claude/.credentials.json .claude ;;
show)
    cat .claude/.credentials.json
    printf '%s\\n' "$ANTHROPIC_API_KEY$CLAUDE_CODE_OAUTH_TOKEN"
    ;;
esac
"""


class Standin(Claude):
    """The agent that is a shell script."""

    name = "standin"

    def seed(self, room: Room) -> Sequence[SeedFile]:
        return (*super().seed(room), SeedFile("agent.sh", content=SCRIPT.encode()))

    def environment(self, room: Room) -> Mapping[str, str]:
        told = os.environ.get("STANDIN_GRANT", "")
        return {**super().environment(room), "STANDIN_GRANT": told}

    def command(self, room: Room, arguments: Sequence[str]) -> Sequence[str]:
        return ("/bin/sh", str(room.home / "agent.sh"), *arguments)

    def needs(self, room: Room) -> Needs:
        del room
        return Needs(("api.standin.test:443",))

    def login_ways(self) -> Sequence[LoginWay]:
        return (LoginWay("account", ("login",), ("login.standin.test:443",)),)


def _report(path: Path) -> None:
    names = sorted(name for name in sys.modules if name.partition(".")[0] == "keyring")
    path.write_text(json.dumps(names))


if __name__ == "__main__":
    registry: dict[str, str] = homeroom.provider._REGISTRY
    registry["standin"] = f"{__name__}:Standin"
    if limit := os.environ.get("STANDIN_LIMIT"):
        from homeroom.credential import keyring_store

        keyring_store.LIMIT = float(limit)
    status = main()
    if report := os.environ.get("STANDIN_REPORT"):
        _report(Path(report))
    sys.exit(status)
