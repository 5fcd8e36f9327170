{
  description = "A directory to try homeroom in";

  # "homeroom" is what your own registry calls it: nix registry add homeroom WHERE-IT-IS
  inputs.homeroom.url = "flake:homeroom";

  outputs =
    { homeroom, ... }:
    {
      # Nothing but the command; a shell of your own may hold much more.
      devShells = builtins.mapAttrs (_: packages: { default = packages.homeroom.shell; }) homeroom.packages;
      apps = builtins.mapAttrs (_: apps: { inherit (apps) check demo dry-run; }) homeroom.apps;
    };
}
