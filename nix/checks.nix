# What `nix flake check` builds. The suite runs in Nix's own build sandbox: no network, no home,
# no toolchain; so it is the part of the tests that needs none of them.
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
        ];
      }
      ''
        cp -r ${self} source
        chmod -R u+w source
        cd source
        # Some tests ask git which files there are.
        git init -q && git add --all
        export HOME=$TMPDIR/home
        mkdir "$HOME"
        python -m pytest -n 2 -m 'not network and not toolchain' --durations=60 -p no:cacheprovider | tee "$out"
      '';
}
