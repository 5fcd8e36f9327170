# The pinned Node.js, from the same wheel that `homeroom setup` installs: nixpkgs moves its own
# version when it likes, and a toolchain with another one would not be the pinned one.
{
  lib,
  stdenv,
  stdenvNoCC,
  python3,
  autoPatchelfHook,
  pin,
  registries,
}:
let
  python = python3.withPackages (packages: [ packages.pip ]);
  # The end of the wheel's name: pip is told, or it would ask for what this Python takes.
  tag = builtins.head (builtins.match ".*-none-(.*)[.]whl" pin.wheel.file);
  wheel = stdenvNoCC.mkDerivation {
    name = pin.wheel.file;
    nativeBuildInputs = [ python ];
    buildCommand = ''
      ${registries.prepare}
      python -m pip download --quiet --no-deps --no-cache-dir --disable-pip-version-check \
        --only-binary :all: --platform ${tag} --dest download ${pin.distribution}==${pin.version}
      mv download/*.whl "$out"
    '';
    outputHashMode = "flat";
    outputHashAlgo = "sha256";
    outputHash = pin.wheel.sha256;
    inherit (registries) impureEnvVars;
  };
in
stdenv.mkDerivation {
  pname = "nodejs";
  inherit (pin) version;
  nativeBuildInputs = [ python ] ++ lib.optional stdenv.hostPlatform.isLinux autoPatchelfHook;
  buildInputs = lib.optional stdenv.hostPlatform.isLinux (lib.getLib stdenv.cc.cc);
  dontUnpack = true;
  dontStrip = true;
  dontPatchShebangs = true;
  installPhase = ''
    runHook preInstall
    cp ${wheel} ${pin.wheel.file}
    python -m pip install --quiet --no-deps --no-compile --disable-pip-version-check \
      --no-index --find-links . --target "$out" ${pin.distribution}==${pin.version}
    runHook postInstall
  '';
  passthru = {
    inherit wheel;
    node = pin.file;
    inherit (pin) npm;
  };
  meta = {
    description = "The Node.js that the pinned tools run on";
    license = lib.licenses.mit;
  };
}
