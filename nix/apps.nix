# What `nix run .#NAME` runs.
{ pkgs, room }:
let
  inherit (pkgs) lib;
  app = name: description: text: {
    type = "app";
    program = lib.getExe (
      pkgs.writeShellApplication {
        name = "homeroom-${name}";
        runtimeInputs = [ room.homeroom ];
        inherit text;
      }
    );
    meta = { inherit description; };
  };
  command = name: description: app name description ''exec homeroom ${name} "$@"'';
in
{
  default = {
    type = "app";
    program = lib.getExe room.homeroom;
    meta.description = "homeroom itself";
  };
  demo = app "demo" "See the real agent in a room: no account, no network" ''
    workspace=$(mktemp -d)
    trap 'rm -rf "$workspace"' EXIT
    cd "$workspace"
    homeroom start --demo -- -p "''${*:-hello}"
  '';
}
// lib.mapAttrs command {
  check = "Prove that this machine can give safe rooms";
  dry-run = "Print everything that a start would do";
  login = "Give homeroom a login of its own";
  setup = "Say what is installed and what the system lacks";
  start = "Start an agent in a room of its own";
}
