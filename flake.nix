{
  description = "A private, pinned, sandboxed room for every run of a coding agent";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-26.05";

  outputs =
    { self, nixpkgs }:
    let
      inherit (nixpkgs) lib;
      systems = [
        "x86_64-linux"
        "aarch64-linux"
        "x86_64-darwin"
        "aarch64-darwin"
      ];
      pkgsFor =
        system:
        import nixpkgs {
          inherit system;
          # The one agent that is not free software is allowed by its name, and nothing else is.
          config.allowUnfreePredicate = package: lib.getName package == "claude-code";
        };
      eachSystem =
        f:
        lib.genAttrs systems (
          system:
          let
            pkgs = pkgsFor system;
          in
          f pkgs (import ./nix { inherit pkgs; })
        );
    in
    {
      packages = eachSystem (
        _: room: {
          default = room.homeroom;
          inherit (room)
            homeroom
            toolchain
            srt
            claude-code
            codex
            ;
        }
      );
      apps = eachSystem (pkgs: room: import ./nix/apps.nix { inherit pkgs room; });
      devShells = eachSystem (pkgs: room: { default = import ./nix/shell.nix { inherit pkgs room; }; });
      checks = eachSystem (pkgs: room: import ./nix/checks.nix { inherit pkgs room self; });
      formatter = eachSystem (pkgs: _: pkgs.nixfmt-tree);

      overlays.default = final: _: { inherit (import ./nix { pkgs = final; }) homeroom; };
      nixosModules.default = import ./nix/modules/nixos.nix self;
      homeManagerModules.default = import ./nix/modules/home-manager.nix self;
      homeModules = self.homeManagerModules; # the name that newer tools look for

      templates = {
        default = self.templates.workshop;
        workshop = {
          path = ./nix/template;
          description = "A directory to try homeroom in, with everything that it takes";
        };
      };
    };
}
