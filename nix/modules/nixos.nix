# homeroom for everybody on a NixOS machine.
self:
{
  config,
  lib,
  ...
}:
let
  cfg = config.programs.homeroom;
in
{
  imports = [ (import ./options.nix self) ];
  config = lib.mkIf cfg.enable {
    environment.systemPackages = [ cfg.package ];
    # homeroom reads each user's own file: "L" links where there is none and leaves others be.
    systemd.user.tmpfiles.rules = lib.mkIf (cfg.configFile != null) [
      "d %h/.config/homeroom 0700"
      "L %h/.config/homeroom/config.toml - - - - ${cfg.configFile}"
    ];
    systemd.user.services = lib.mkIf cfg.sweep {
      homeroom-sweep = {
        description = "Remove the rooms of runs that are no longer alive";
        wantedBy = [ "default.target" ];
        serviceConfig = {
          Type = "oneshot";
          ExecStart = "${lib.getExe cfg.package} sweep";
        };
      };
    };
  };
}
