# Everything that homeroom is made of, for one nixpkgs.
{ pkgs }:
let
  inherit (pkgs) lib;
  inherit (pkgs.stdenv) hostPlatform;
  platform = lib.concatStringsSep "-" (
    [
      (if hostPlatform.isDarwin then "darwin" else "linux")
      (if hostPlatform.isAarch64 then "arm64" else "x64")
    ]
    ++ lib.optional hostPlatform.isMusl "musl"
  );
  pins = import ./pins.nix platform;
  registries = import ./registries.nix { inherit lib; };
  nodejs = pkgs.callPackage ./nodejs.nix {
    pin = pins.node;
    inherit registries;
  };
  fetchNpmPackage = pkgs.callPackage ./fetch-npm-package.nix { inherit nodejs registries; };
  tools = lib.mapAttrs (
    name: pin:
    pkgs.callPackage ./tool.nix {
      inherit
        name
        pin
        fetchNpmPackage
        nodejs
        ;
      inherit (tools) ripgrep;
    }
  ) pins.tools;
  python = import ./python.nix { inherit pkgs; };
  toolchain = pkgs.callPackage ./toolchain.nix {
    inherit
      pins
      nodejs
      tools
      python
      ;
  };
in
{
  inherit pins python toolchain;
  homeroom = pkgs.callPackage ./homeroom.nix { inherit python toolchain; };
  inherit (tools) srt codex;
  claude-code = tools.claude;
}
