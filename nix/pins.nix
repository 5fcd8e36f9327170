# The package's own lock data as Nix reads it. No other file here knows a version or a hash.
platform:
let
  read = name: builtins.fromJSON (builtins.readFile (../src/homeroom/toolchain/lock + "/${name}"));
  pins = read "pins.json";
  inherit (read "package-lock.json") packages;
  locked = name: packages."node_modules/${name}";

  # npm installs for the platform whatever is optional; here each tool names its build, so
  # that what is left to follow are the plain dependencies.
  closure =
    names:
    map (found: found.key) (
      builtins.genericClosure {
        startSet = map (key: { inherit key; }) names;
        operator = { key }: map (key: { inherit key; }) (builtins.attrNames (locked key).dependencies or { });
      }
    );

  tool =
    { package, builds }:
    let
      build = builds.${platform} or builds.any;
    in
    {
      inherit package;
      inherit (locked package) version license;
      program = "${build.package}/${build.file}";
      # Where each package goes, and what to fetch for it: an alias is locked with its real name.
      packages = map (directory: {
        inherit directory;
        name = (locked directory).name or directory;
        inherit (locked directory) version integrity;
      }) (closure [ package build.package ]);
    };
in
{
  inherit platform;
  node = {
    inherit (pins.node)
      distribution
      version
      file
      npm
      ;
    wheel = pins.node.wheels.${platform};
  };
  tools = builtins.mapAttrs (_: tool) pins.tools;
}
