"""The flake is whole, fits its lock, and every command that it offers does its work."""

import json
import re
from pathlib import Path

import pytest

from homeroom import __version__
from homeroom.toolchain.pins import load
from tests.nix.conftest import SYSTEMS, Flake

APPS = {"default", "check", "demo", "dry-run", "login", "setup", "start"}
PACKAGES = {"default", "homeroom", "toolchain", "srt", "claude-code", "codex"}


def test_the_lock_fits_the_flake(flake: Flake) -> None:
    told = json.loads(flake.call("flake", "metadata", "--no-update-lock-file", "--json"))
    [nixpkgs] = [node for name, node in told["locks"]["nodes"].items() if name != "root"]
    assert re.fullmatch(r"[0-9a-f]{40}", nixpkgs["locked"]["rev"])
    assert nixpkgs["locked"]["narHash"].startswith("sha256-")


def test_a_lock_of_other_inputs_is_noticed(flake: Flake, tmp_path: Path) -> None:
    """Else the test above could not fail."""
    copy = flake.copy(tmp_path / "copy")
    text = (copy.directory / "flake.nix").read_text()
    (copy.directory / "flake.nix").write_text(text.replace("nixos-26.05", "nixos-25.11"))
    done = copy.try_to("flake", "metadata", "--no-update-lock-file")
    assert done.returncode != 0
    assert "lock file" in done.stderr


def test_all_of_it_evaluates_on_every_system(flake: Flake) -> None:
    flake.call("flake", "check", "--all-systems", "--no-build", *flake.own_nixpkgs)


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_system_has_every_output(flake: Flake, system: str) -> None:
    names = "--apply", "builtins.attrNames"
    assert set(flake.evaluate(f"packages.{system}", *names)) == PACKAGES
    assert set(flake.evaluate(f"apps.{system}", *names)) == APPS
    assert set(flake.evaluate(f"checks.{system}", *names)) == {"homeroom", "suite", "toolchain"}


@pytest.mark.parametrize(("system", "platform"), SYSTEMS.items())
def test_nix_reads_the_same_pins_as_homeroom(flake: Flake, system: str, platform: str) -> None:
    pins = load(platform=platform)
    seen = flake.evaluate(f"packages.{system}.toolchain.pins")
    assert seen["platform"] == platform
    assert seen["node"]["wheel"]["sha256"] == pins.wheel.sha256
    assert {name: tool["version"] for name, tool in seen["tools"].items()} == {
        name: pin.version for name, pin in pins.tools.items()
    }
    for name, pin in pins.tools.items():
        fetched = {it["directory"]: it["integrity"] for it in seen["tools"][name]["packages"]}
        assert seen["tools"][name]["program"] == f"{pin.build.package}/{pin.build.file}"
        assert fetched[pin.build.package] == pin.integrity


def test_a_tarball_that_is_not_the_pinned_one_is_refused(flake: Flake, tmp_path: Path) -> None:
    copy = flake.copy(tmp_path / "copy")
    lock = copy.directory / "src/homeroom/toolchain/lock"
    document = json.loads((lock / "package-lock.json").read_text())
    entry = document["packages"]["node_modules/commander"]
    entry["integrity"] = f"sha512-{'A' * 86}=="
    (lock / "package-lock.json").write_text(json.dumps(document))
    done = copy.try_to("build", "--no-link", *copy.own_nixpkgs, ".#srt")
    assert done.returncode != 0
    assert "hash mismatch" in done.stderr
    assert "commander" in done.stderr


def test_what_is_unfree_is_allowed_by_name_only(flake: Flake) -> None:
    system = '"x86_64-linux"'
    build = f"(import {flake.directory}/nix {{ pkgs = import stub {{ system = {system}; %s }}; }})"
    allowed = 'config.allowUnfreePredicate = package: package.pname == "claude-code";'
    value = flake.evaluate_with(f"{build % allowed}.claude-code.version")
    assert value == load(platform="linux-x64").tools["claude"].version
    with pytest.raises(AssertionError, match="claude-code has an unfree licence"):
        flake.evaluate_with(f"{build % ''}.claude-code.version")


def test_the_demo_is_answered_by_the_real_agent_in_the_real_sandbox(flake: Flake) -> None:
    said = flake.run("demo")
    assert said.startswith("Hello from a private, pinned, sandboxed room.")


def test_setup_finds_the_toolchain_in_the_store_and_installs_nothing(flake: Flake) -> None:
    document = json.loads(flake.run("setup", "--verify", "--json"))
    assert document["installed"] is False
    assert document["root"].startswith(flake.env["NIX_STORE_DIR"])
    assert not Path(flake.env["HOMEROOM_HOME"], "data").exists()
    pinned = {name: pin.version for name, pin in load().tools.items()}
    found = {tool["name"]: tool["version"] for tool in document["tools"]}
    assert found == pinned | {"node": load().node.version}


def test_dry_run_prints_the_plan_with_the_stores_tools(flake: Flake) -> None:
    plan = json.loads(flake.run("dry-run", "--json"))
    assert f"{flake.env['NIX_STORE_DIR']}/" in json.dumps(plan)


def test_start_starts_the_pinned_agent(flake: Flake) -> None:
    version = load().tools["claude"].version
    assert flake.run("start", "--no-credentials", "--", "--version").startswith(version)


def test_check_finds_the_toolchain_whole(flake: Flake) -> None:
    report = json.loads(flake.run("check", "--only", "toolchain", "--json"))
    assert "toolchain.hashes" in json.dumps(report)


@pytest.mark.parametrize("app", sorted(APPS))
def test_every_app_is_homerooms_command_of_that_name(flake: Flake, app: str) -> None:
    arguments = () if app == "demo" else ("--help",)
    said = flake.run(app, *arguments)
    expected = {"default": "usage: homeroom", "demo": "Hello"}
    assert said.startswith(expected.get(app, f"usage: homeroom {app}"))


def test_the_development_shell_has_the_pinned_tools_and_the_tests(flake: Flake) -> None:
    script = """
        claude --version; codex --version; python -m homeroom --version; srt --help | head -1
        python -c "import pytest, hypothesis"
        echo "$HOMEROOM_TOOLCHAIN"
    """
    said = flake.call("develop", *flake.own_nixpkgs, "-c", "bash", "-ec", script).splitlines()
    tools = load().tools
    assert said[0].startswith(tools["claude"].version)
    assert said[1].endswith(tools["codex"].version)
    assert said[2] == f"homeroom {__version__}"
    assert said[3].startswith("Usage: srt")
    assert said[4].startswith(flake.env["NIX_STORE_DIR"])


def test_the_checks_hold_in_nixs_own_sandbox(flake: Flake) -> None:
    flake.call("flake", "check", *flake.own_nixpkgs)
    suite = f".#checks.{_system(flake)}.suite"
    out = flake.call("build", "--no-link", "--print-out-paths", *flake.own_nixpkgs, suite)
    counted = re.search(r"(\d+) passed", Path(out.strip()).read_text())
    assert counted is not None
    assert int(counted[1]) > 1000


def _system(flake: Flake) -> str:
    return flake.call("eval", "--impure", "--raw", "--expr", "builtins.currentSystem")


def test_a_workshop_starts_from_the_template(flake: Flake, tmp_path: Path) -> None:
    directory = tmp_path / "workshop"
    directory.mkdir()
    flake.call("flake", "init", "-t", f"{flake.directory}#workshop", cwd=directory)
    assert {path.name for path in directory.iterdir()} == {"README.md", "flake.nix"}
    inputs = ("--override-input", "homeroom", f"git+file://{flake.directory}")
    nixpkgs = ("--override-input", "homeroom/nixpkgs", f"path:{flake.stub}")
    script = "command -v homeroom; homeroom --version"
    shell = ("develop", *inputs, *nixpkgs, "-c", "bash", "-ec", script)
    where, version = flake.call(*shell, cwd=directory).splitlines()
    assert where.startswith(flake.env["NIX_STORE_DIR"])
    assert version == f"homeroom {__version__}"
