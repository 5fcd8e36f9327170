# The command: homeroom with its toolchain and with what a room takes from the system.
{
  lib,
  mkShell,
  stdenv,
  symlinkJoin,
  makeWrapper,
  bash,
  bubblewrap,
  git,
  socat,
  which,
  python,
  toolchain,
}:
let
  inherit (python) package;
  sandbox = lib.optionals stdenv.hostPlatform.isLinux [
    bubblewrap
    socat
  ];
  # Behind the user's own, because a room is given the same PATH.
  others = [
    bash
    git
    which
  ];
  homeroom = symlinkJoin {
    inherit (package) name;
    paths = [ package ];
    nativeBuildInputs = [ makeWrapper ];
    # --set-default: whoever names another toolchain means it.
    postBuild = ''
      wrapProgram "$out/bin/homeroom" \
        --set-default HOMEROOM_TOOLCHAIN ${toolchain} \
        ${lib.optionalString (sandbox != [ ]) "--prefix PATH : ${lib.makeBinPath sandbox}"} \
        --suffix PATH : ${lib.makeBinPath others}
    '';
    passthru = {
      inherit python toolchain;
      shell = mkShell { packages = [ homeroom ]; };
    };
    meta = {
      description = "A private, pinned, sandboxed room for every run of a coding agent";
      license = lib.licenses.asl20;
      mainProgram = "homeroom";
    };
  };
in
homeroom
