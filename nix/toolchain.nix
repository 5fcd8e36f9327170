# The toolchain as HOMEROOM_TOOLCHAIN names one: links to the pinned tools, and the mark.
# homeroom's own code checks the tree and writes the mark, so that there is one judge of what a
# toolchain is; a change of homeroom costs only that, for the tools are where they were.
{
  lib,
  runCommand,
  pins,
  nodejs,
  tools,
  python,
}:
runCommand "homeroom-toolchain"
  {
    nativeBuildInputs = [ python.withHomeroom ];
    passthru = { inherit pins nodejs tools; };
    meta.description = "Everything that homeroom pins, as one toolchain";
  }
  ''
    mkdir -p "$out/node_modules"
    ln -s ${nodejs} "$out/node"
    ${lib.concatStrings (
      lib.mapAttrsToList (
        name: pin:
        lib.concatMapStrings (package: ''
          mkdir -p "$(dirname "$out/node_modules/${package.directory}")"
          ln -sfn ${tools.${name}}/lib/node_modules/${package.directory} "$out/node_modules/${package.directory}"
        '') pin.packages
      ) pins.tools
    )}
    python -c '
    import pathlib, sys
    from homeroom.toolchain.install import seal
    seal(pathlib.Path(sys.argv[1]))
    ' "$out"
  ''
