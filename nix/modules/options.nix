# What the modules for NixOS and home-manager have in common.
self:
{
  config,
  lib,
  pkgs,
  ...
}:
let
  cfg = config.programs.homeroom;
  toml = pkgs.formats.toml { };
  # An unknown key ends the build, not the first start: homeroom's own reader decides.
  check = ''
    import pathlib, sys
    from homeroom import config
    config.load(pathlib.Path(sys.argv[1]))
  '';
in
{
  options.programs.homeroom = {
    enable = lib.mkEnableOption "homeroom, a private room for every run of a coding agent";
    package = lib.mkOption {
      type = lib.types.package;
      default = self.packages.${pkgs.stdenv.hostPlatform.system}.default;
      defaultText = lib.literalExpression "homeroom.packages.\${system}.default";
      description = "The homeroom to use. Its toolchain comes with it.";
    };
    settings = lib.mkOption {
      inherit (toml) type;
      default = { };
      example = {
        network.allow = [ "*.example.org:443" ];
        run.credentials = "access";
      };
      description = "What config.toml says; see docs/reference/configuration.md.";
    };
    sweep = lib.mkOption {
      type = lib.types.bool;
      default = true;
      description = "Whether to remove at login the rooms of runs that a crash or a loss of power ended.";
    };
    configFile = lib.mkOption {
      type = lib.types.nullOr lib.types.path;
      internal = true;
      readOnly = true;
      default =
        if cfg.settings == { } then
          null
        else
          pkgs.runCommand "homeroom-config.toml" { nativeBuildInputs = [ cfg.package.python.withHomeroom ]; } ''
            python -c ${lib.escapeShellArg check} ${toml.generate "config.toml" cfg.settings}
            cp ${toml.generate "config.toml" cfg.settings} "$out"
          '';
      description = "The checked config.toml, or null when there are no settings.";
    };
  };
}
