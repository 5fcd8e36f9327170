# For work on homeroom: everything that the tests use, and the pinned tools on the PATH.
{ pkgs, room }:
pkgs.mkShell {
  packages = [
    room.python.forDevelopment
    room.srt
    room.claude-code
    room.codex
    pkgs.git
    pkgs.nixfmt-tree
    pkgs.tmux
    pkgs.which
  ]
  ++ pkgs.lib.optionals pkgs.stdenv.hostPlatform.isLinux [
    pkgs.bubblewrap
    pkgs.socat
  ];
  # The tests ask for it, and `python -m homeroom` runs what is in the editor.
  HOMEROOM_TOOLCHAIN = room.toolchain;
  shellHook = ''export PYTHONPATH=$PWD/src'';
}
