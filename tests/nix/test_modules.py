"""The overlay and the modules give homeroom, its configuration and its sweep at login."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.nix.conftest import Flake

SETTINGS = '{ network.allow = [ "*.example.org:443" ]; run.archive = "never"; }'
UNIT = "homeroom-sweep"


def module(flake: Flake, kind: str, system: str, options: str, attribute: str) -> Any:
    """Evaluate one of the modules with some options set, and give a value of the outcome."""
    return flake.evaluate_with(
        f"""
        let
          pkgs = import stub {{
            system = "{system}";
            config.allowUnfreePredicate = _: true;
          }};
          outcome = stub.lib.evalModules {{
            modules = [ flake.{kind}.default {{ programs.homeroom = {options}; }} ];
            specialArgs = {{ inherit pkgs; inherit (stub) lib; }};
          }};
        in outcome.config.{attribute}
        """
    )


def test_the_overlay_adds_homeroom_and_nothing_else(flake: Flake) -> None:
    names = flake.evaluate_with(
        'builtins.attrNames (flake.overlays.default (import stub { system = "x86_64-linux"; }) { })'
    )
    assert names == ["homeroom"]


@pytest.mark.parametrize("kind", ["nixosModules", "homeManagerModules", "homeModules"])
def test_a_module_that_is_not_enabled_changes_nothing(flake: Flake, kind: str) -> None:
    everything = "programs.homeroom.enable"
    assert module(flake, kind, "x86_64-linux", "{ }", everything) is False
    for setting in ("systemd or { }", "home or { }", "environment or { }"):
        assert module(flake, kind, "x86_64-linux", "{ }", setting) == {}


def test_home_manager_installs_and_sweeps_at_login_on_linux(flake: Flake) -> None:
    options = "{ enable = true; }"
    unit = module(
        flake, "homeManagerModules", "x86_64-linux", options, f"systemd.user.services.{UNIT}"
    )
    assert unit["Service"]["ExecStart"].strip("'").split("' '")[-1] == "sweep"
    assert unit["Install"]["WantedBy"] == ["default.target"]
    [package] = module(flake, "homeManagerModules", "x86_64-linux", options, "home.packages")
    assert "homeroom-" in package


def test_home_manager_sweeps_by_launchd_on_macos(flake: Flake) -> None:
    options = f"{{ enable = true; settings = {SETTINGS}; }}"
    agent = module(
        flake, "homeManagerModules", "aarch64-darwin", options, f"launchd.agents.{UNIT}.config"
    )
    assert agent["ProgramArguments"][-1] == "sweep"
    assert agent["RunAtLoad"] is True
    files = module(flake, "homeManagerModules", "aarch64-darwin", options, "home.file")
    assert list(files) == ["Library/Application Support/homeroom/config.toml"]


def test_the_sweep_can_be_left_out(flake: Flake) -> None:
    options = "{ enable = true; sweep = false; }"
    for kind in ("nixosModules", "homeManagerModules"):
        assert module(flake, kind, "x86_64-linux", options, "systemd.user.services") == {}


def test_nixos_links_the_configuration_only_where_there_is_none(flake: Flake) -> None:
    options = f"{{ enable = true; settings = {SETTINGS}; }}"
    rules = module(flake, "nixosModules", "x86_64-linux", options, "systemd.user.tmpfiles.rules")
    assert rules[1].startswith("L %h/.config/homeroom/config.toml - - - - /")


def configuration(settings: str) -> str:
    return (
        "let pkgs = import stub { system = builtins.currentSystem;"
        " config.allowUnfreePredicate = _: true; };"
        " outcome = stub.lib.evalModules {"
        f" modules = [ flake.nixosModules.default {{ programs.homeroom.settings = {settings}; }} ];"
        " specialArgs = { inherit pkgs; inherit (stub) lib; }; };"
        " in outcome.config.programs.homeroom.configFile"
    )


def test_settings_become_a_configuration_that_homeroom_has_read(flake: Flake) -> None:
    path = flake.build_with(configuration(SETTINGS))
    assert tomllib.loads(Path(path).read_text()) == {
        "network": {"allow": ["*.example.org:443"]},
        "run": {"archive": "never"},
    }


def test_a_setting_that_homeroom_does_not_know_ends_the_build(flake: Flake) -> None:
    with pytest.raises(AssertionError, match="netwrok"):
        flake.build_with(configuration("{ netwrok.allow = [ ]; }"))
