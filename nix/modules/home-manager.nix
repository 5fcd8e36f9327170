# homeroom for one user, on Linux and macOS.
self:
{
  config,
  lib,
  pkgs,
  ...
}:
let
  cfg = config.programs.homeroom;
  inherit (pkgs.stdenv.hostPlatform) isDarwin isLinux;
  sweep = [
    (lib.getExe cfg.package)
    "sweep"
  ];
  file = lib.mkIf (cfg.configFile != null);
in
{
  imports = [ (import ./options.nix self) ];
  config = lib.mkIf cfg.enable {
    home.packages = [ cfg.package ];
    # Where platformdirs looks: by the XDG variables, but on macOS.
    xdg.configFile = lib.mkIf (!isDarwin) (file { "homeroom/config.toml".source = cfg.configFile; });
    home.file = lib.mkIf isDarwin (file {
      "Library/Application Support/homeroom/config.toml".source = cfg.configFile;
    });
    systemd.user.services = lib.mkIf (isLinux && cfg.sweep) {
      homeroom-sweep = {
        Unit.Description = "Remove the rooms of runs that are no longer alive";
        Service = {
          Type = "oneshot";
          ExecStart = lib.escapeShellArgs sweep;
        };
        Install.WantedBy = [ "default.target" ];
      };
    };
    launchd.agents = lib.mkIf (isDarwin && cfg.sweep) {
      homeroom-sweep = {
        enable = true;
        config = {
          ProgramArguments = sweep;
          RunAtLoad = true;
          ProcessType = "Background";
        };
      };
    };
  };
}
