"""What a fresh home loses, offered back: the user's preferences in the room of the real agent."""

import json
import re
from collections.abc import Iterator, Mapping

import pytest

from homeroom.provider.claude import Claude
from homeroom.toolchain.store import Toolchain
from tests.e2e.runner import Runner, wait_until
from tests.e2e.session import ANSWER
from tests.support.cli import homeroom_argv, run_homeroom
from tests.support.runs import Journal, assert_nothing_left
from tests.support.terminal import Terminal
from tests.support.tree import changes, snapshot

# A server of the Model Context Protocol with one tool, for the pinned Node.js.
PETS = """\
import { createInterface } from "node:readline";
const feed = { name: "feed_the_newt", description: "Feed it.", inputSchema: { type: "object" } };
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  const result =
    method === "initialize"
      ? { protocolVersion: params.protocolVersion, capabilities: { tools: {} },
          serverInfo: { name: "pets", version: process.env.PETS_KEY ?? "no key" } }
      : method === "tools/list" ? { tools: [feed] } : {};
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
}
"""
SECRET = "sk-ant-api03-" + "kit-preference-" * 3
# What the model is told of a user who has these files.
CARRIED = ("newt-reviewer", "by skill", "by instruction")
FILES = {
    ".claude/commands/ship-it.md": "Ship the whole thing, by command.\n",
    ".claude/agents/reviewer.md": "---\nname: newt-reviewer\ndescription: Reviews.\n---\nGo.\n",
    ".claude/skills/sail/SKILL.md": "---\nname: sail\ndescription: Sails by skill.\n---\nGo.\n",
    ".claude/CLAUDE.md": "Be brief, by instruction.\n",
}
# With every tool, the model server cuts off what it remembers of a request; and newer models
# are told of agents in a kind of message that it leaves out.
FEW = ("--tools", "Agent,Task,Bash,Skill", "--model", "claude-haiku-4-5")
EVERYTHING = ("settings", "commands", "agents", "skills", "instructions", "mcp")


class Preferences:
    """A user with preferences, whose runs may carry them.

    Args:
        runner: Starts runs.
        journal: What the model was told.
    """

    def __init__(self, runner: Runner, journal: Journal, toolchain: Toolchain) -> None:
        self.runner, self.journal = runner, journal
        self.user, self.work = runner.home.home, runner.workspace
        self.node = toolchain.tools["node"].path
        hook = f"touch {self.work}/hooked"
        settings = {
            "permissions": {"deny": ["Bash"]},
            "env": {"MINE": SECRET},
            "hooks": {"Stop": [{"hooks": [{"type": "command", "command": hook}]}]},
        }
        server = {**self.server(), "env": {"PETS_KEY": SECRET}}
        state = {"mcpServers": {"pets": server}, "numStartups": 7}
        self.write({**FILES, ".claude/settings.json": json.dumps(settings)})
        self.write({".claude.json": json.dumps(state)})
        (self.work / "pets.mjs").write_text(PETS)

    def server(self) -> dict[str, object]:
        return {"command": str(self.node), "args": [str(self.work / "pets.mjs")]}

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = self.user / name
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.write_text(text)

    def configure(self, text: str) -> None:
        config = self.runner.home.root / "config" / "config.toml"
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text(text)

    def ask(self, prompt: str, *seeds: str) -> str:
        """Ask the agent, and give all that the model was told and offered."""
        options = [word for name in seeds for word in ("--seed", name)]
        done = self.runner.start(self.journal, "-p", prompt, *FEW, options=options)
        assert (done.returncode, done.stdout) == (0, f"{ANSWER}\n"), done.stderr
        return json.dumps([entry["body"] for entry in self.journal.requests()])

    def tools(self) -> set[str]:
        """Name the tools that the model was offered."""
        offers = [entry["body"].get("tools", []) for entry in self.journal.requests()]
        return {tool["function"]["name"] for offer in offers for tool in offer}

    def server_states(self, *options: str) -> dict[str, str]:
        """Ask the agent which servers it has, and whether it may and can use them."""
        done = self.runner.start(self.journal, "mcp", "list", options=options)
        return dict(re.findall(r"^(\w+): .* - \S+ (.+)$", done.stdout, re.MULTILINE))


@pytest.fixture
def preferences(runner: Runner, journal: Journal, toolchain: Toolchain) -> Preferences:
    return Preferences(runner, journal, toolchain)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    with Terminal() as found:
        yield found


def test_nothing_is_carried_by_default(preferences: Preferences) -> None:
    told = preferences.ask("hello")
    for word in (*CARRIED, SECRET):
        assert word not in told
    assert "Bash" in preferences.tools()
    assert not (preferences.work / "hooked").exists()


def test_what_is_chosen_is_there_and_no_secret_or_hook_with_it(preferences: Preferences) -> None:
    before = snapshot(preferences.user / ".claude")
    told = preferences.ask("/ship-it", *EVERYTHING)
    for word in ("by command", *CARRIED):
        assert word in told, word
    assert preferences.tools().isdisjoint({"Bash"})
    assert SECRET not in told
    assert not (preferences.work / "hooked").exists()
    assert changes(before, snapshot(preferences.user / ".claude")) == []


def test_servers_of_the_users_are_there_when_chosen(preferences: Preferences) -> None:
    assert preferences.server_states() == {}
    assert preferences.server_states("--seed", "mcp") == {"pets": "Connected"}


def test_hooks_come_along_when_the_configuration_says_so(preferences: Preferences) -> None:
    preferences.configure('[seed]\ninclude = ["settings"]\nhooks = true\n')
    preferences.ask("hello")
    assert (preferences.work / "hooked").exists()


def test_a_dry_run_lists_what_would_be_carried(preferences: Preferences) -> None:
    options = [word for name in EVERYTHING for word in ("--seed", name)]
    env = preferences.runner.home.env
    shown = run_homeroom("dry-run", "--json", *options, env=env, cwd=preferences.work)
    seeds = {seed["path"]: seed for seed in json.loads(shown.stdout)["seeds"]}
    assert {name for name in FILES if name not in seeds} == set()
    assert SECRET not in shown.stdout
    assert "hooked" not in shown.stdout
    listed = [seed["path"] for seed in json.loads(shown.stdout)["seeds"]]
    # The user's first, the room's own over them.
    assert listed.count(".claude/settings.json") == 2
    assert listed.count(".claude/.claude.json") == 2


def test_the_projects_own_mcp_servers_are_approved(
    preferences: Preferences, terminal: Terminal
) -> None:
    servers = {"mcpServers": {"pets": preferences.server()}}
    (preferences.work / ".mcp.json").write_text(json.dumps(servers))
    assert preferences.server_states() == {"pets": "Connected"}
    start_at_prompt(preferences, terminal)
    settings = json.loads(in_room(preferences, ".claude/settings.json"))
    # The CLI writes this file anew at its first start; what is pinned there stays.
    assert settings["enableAllProjectMcpServers"] is True
    leave(preferences, terminal)


def test_permissions_are_bypassed_without_a_warning(
    preferences: Preferences, terminal: Terminal
) -> None:
    start_at_prompt(preferences, terminal, "--dangerously-skip-permissions")
    assert "bypass permissions on" in terminal.screen()
    leave(preferences, terminal)


def test_the_agent_signs_commits_unless_the_configuration_says_no(
    preferences: Preferences,
) -> None:
    assert "Co-Authored-By" in preferences.ask("hello")
    preferences.journal = Journal(preferences.journal.server)
    preferences.configure("[run]\nattribution = false\n")
    assert "Co-Authored-By" not in preferences.ask("hello")


def start_at_prompt(preferences: Preferences, terminal: Terminal, *arguments: str) -> None:
    argv = homeroom_argv("start", "--demo-server", preferences.journal.url, "--", *arguments)
    terminal.start(argv, env=preferences.runner.home.env, cwd=preferences.work)
    wait_until(lambda: Claude().is_at_prompt(terminal.screen()))


def in_room(preferences: Preferences, name: str) -> str:
    (home,) = (preferences.runner.home.root / "state" / "instances").glob("run_*/home")
    return (home / name).read_text()


def leave(preferences: Preferences, terminal: Terminal) -> None:
    assert terminal.press_until_exit("C-c", "C-c") == 0
    assert_nothing_left(preferences.runner.home.root)
