# What `nix flake check` builds. Nix's own build sandbox has no network, no home and no toolchain,
# so that the units and properties are tested there and whole rooms are not.
{
  pkgs,
  room,
  self,
}:
{
  inherit (room) homeroom toolchain;
  suite =
    pkgs.runCommand "homeroom-suite"
      {
        nativeBuildInputs = [
          room.python.forTests
          pkgs.git
          pkgs.which
        ]
        ++ pkgs.lib.optionals pkgs.stdenv.hostPlatform.isLinux [
          pkgs.bubblewrap
          pkgs.socat
        ];
      }
      ''
        cp -r ${self} source
        chmod -R u+w source
        cd source
        export HOME=$TMPDIR/home
        mkdir "$HOME"
        python -m pytest tests/core tests/provider tests/toolchain \
          -n 2 -m 'not network and not toolchain and not host' -p no:cacheprovider | tee "$out"
      '';
}
