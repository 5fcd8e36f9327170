# `import nixpkgs { … }`: packages that are links to this machine's programs.
{
  system,
  config ? { },
}:
let
  lib = import ./lib.nix;
  host = builtins.fromJSON (builtins.readFile ./host.json);

  mkDerivation =
    attrs:
    let
      result = derivation (
        {
          name = "${attrs.pname}-${attrs.version}";
          inherit system;
          builder = host.programs.bash;
          args = [ ./setup.sh ];
          outputs = [ "out" ]; # `nix develop` asks for it
          PATH = "/usr/bin:/bin";
        }
        // removeAttrs attrs [
          "meta"
          "passthru"
        ]
      );
    in
    if lib.refusesUnfree config attrs then
      throw "${lib.getName attrs} has an unfree licence, and nobody has allowed it"
    else
      result // { inherit (attrs) meta; } // attrs.passthru or { };
  make = attrs: mkDerivation ({ meta = { }; } // attrs);

  # A package that is only links to the host's programs. What is missing is found out when it
  # is used, so that all systems can be evaluated on any host.
  hosted =
    name: programs:
    make {
      inherit name;
      buildCommand = ''
        mkdir -p $out/bin
        ${lib.concatMapStringsSep "\n" (
          program: "ln -s ${host.programs.${program} or "/nonexistent"} $out/bin/${program}"
        ) programs}
      '';
      meta.mainProgram = name;
    };

  callPackage =
    file: given:
    let
      f = import file;
    in
    f (builtins.intersectAttrs (builtins.functionArgs f) pkgs // given);

  # Python's packages are those of the host's interpreter; what is built here goes before them.
  # A virtual environment, because a child that is started by sys.executable must see the same.
  python = {
    withPackages =
      choose:
      let
        built = builtins.filter (package: package ? outPath) (choose pkgs.python3Packages);
        sites = map (package: "${package}/site") built ++ host.python.sites;
      in
      make {
        name = "python";
        buildCommand = ''
          mkdir -p $out/bin $out/lib/${host.python.version}/site-packages
          ln -s ${host.python.program} $out/bin/python
          printf 'home = %s\n' ${dirOf host.python.program} > $out/pyvenv.cfg
          printf '%s\n' ${lib.escapeShellArgs sites} > $out/lib/${host.python.version}/site-packages/host.pth
        '';
      };
  };
  known = lib.genAttrs host.python.packages (name: {
    _hosted = name;
  });

  pkgs = {
    inherit lib callPackage;
    stdenv = {
      mkDerivation = make;
      cc.cc = hosted "cc" [ ];
      hostPlatform = {
        inherit system;
        isLinux = lib.hasSuffix "-linux" system;
        isDarwin = lib.hasSuffix "-darwin" system;
        isAarch64 = lib.hasPrefix "aarch64-" system;
        isMusl = false;
      };
    };
    stdenvNoCC = pkgs.stdenv;

    runCommand =
      name: attrs: buildCommand:
      make ({ inherit name buildCommand; } // attrs);
    symlinkJoin =
      attrs:
      make (
        removeAttrs attrs [ "postBuild" ]
        // {
          buildCommand = ''
            mkdir -p $out
            for path in $paths; do cp -rsn --no-preserve=mode "$path/." $out/; done
            ${attrs.postBuild or ""}
          '';
        }
      );
    writeShellApplication =
      {
        name,
        text,
        runtimeInputs,
      }:
      make {
        inherit name;
        script = ''
          #!${host.programs.bash}
          set -o errexit -o nounset -o pipefail
          export PATH="${lib.makeBinPath runtimeInputs}:$PATH"
          ${text}
        '';
        passAsFile = [ "script" ];
        buildCommand = ''
          mkdir -p $out/bin
          install -m 755 "$scriptPath" $out/bin/${name}
        '';
        meta.mainProgram = name;
      };
    mkShell =
      attrs:
      make (
        removeAttrs attrs [ "packages" ]
        // {
          name = "shell";
          # `nix develop` puts a script of its own in the builder's place: no setup.sh runs.
          PATH = "${lib.makeBinPath attrs.packages}:/usr/bin:/bin";
          buildCommand = "touch $out";
        }
      );
    formats.toml = _: {
      type = "TOML";
      # Strings, lists of them, and tables are all that the tests put into it.
      generate =
        name: tables:
        make {
          inherit name;
          document = builtins.toJSON tables;
          passAsFile = [ "document" ];
          nativeBuildInputs = [ (python.withPackages (_: [ ])) ];
          buildCommand = ''
            python -c '
            import json, sys, tomlkit
            print(tomlkit.dumps(json.load(open(sys.argv[1]))), end="")
            ' "$documentPath" > $out
          '';
        };
    };

    makeWrapper = hosted "make-wrapper" [ ]; # its functions are in setup.sh
    autoPatchelfHook = hosted "auto-patchelf-hook" [ ]; # the host's loader serves foreign programs
    bash = hosted "bash" [ "bash" ];
    bubblewrap = hosted "bubblewrap" [ "bwrap" ];
    git = hosted "git" [ "git" ];
    nixfmt-tree = hosted "nixfmt-tree" [ "treefmt" ];
    socat = hosted "socat" [ "socat" ];
    tmux = hosted "tmux" [ "tmux" ];
    which = hosted "which" [ "which" ];

    python3 = python;
    python3Packages = known // {
      buildPythonPackage =
        attrs:
        make {
          inherit (attrs)
            pname
            version
            src
            meta
            ;
          nativeBuildInputs = [ (python.withPackages (_: [ ])) ];
          # hatchling and what homeroom imports are the host interpreter's own.
          installPhase = ''
            python -m pip install --quiet --no-index --no-deps --no-build-isolation --no-compile \
              --disable-pip-version-check --target $out/site .
            mkdir -p $out/bin
            {
              printf '#!%s\nimport sys\n' "$(command -v python)"
              printf 'sys.path.insert(0, "%s")\n' "$out/site"
              printf 'from homeroom.__main__ import main\nsys.exit(main())\n'
            } > $out/bin/homeroom
            chmod +x $out/bin/homeroom
            PYTHONPATH=$out/site python -c "import ${lib.concatStringsSep ", " attrs.pythonImportsCheck}"
          '';
        };
    };
  };
in
pkgs
