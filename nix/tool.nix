# One pinned tool: its npm packages where Node.js looks for them, and a command in bin/.
{
  lib,
  stdenv,
  makeWrapper,
  autoPatchelfHook,
  bubblewrap,
  socat,
  fetchNpmPackage,
  name,
  nodejs,
  pin,
  ripgrep,
}:
let
  inherit (stdenv.hostPlatform) isLinux;
  program = "$out/lib/node_modules/${pin.program}";
  isScript = lib.hasSuffix ".js" pin.program;
  command = if isScript then name else baseNameOf pin.program;
  # What the command finds when it is used without homeroom, which looks after itself.
  wrapperArgs =
    {
      claude = [
        "--set"
        "DISABLE_AUTOUPDATER"
        "1"
      ];
      srt = [
        "--suffix"
        "PATH"
        ":"
        (lib.makeBinPath (
          [ ripgrep ]
          ++ lib.optionals isLinux [
            bubblewrap
            socat
          ]
        ))
      ];
    }
    .${name} or [ ];
in
stdenv.mkDerivation {
  pname = lib.last (lib.splitString "/" pin.package);
  inherit (pin) version;
  nativeBuildInputs = [ makeWrapper ] ++ lib.optional isLinux autoPatchelfHook;
  buildInputs = lib.optional isLinux (lib.getLib stdenv.cc.cc);
  dontUnpack = true;
  dontStrip = true; # a program that Bun made carries its code behind what strip would keep
  dontPatchShebangs = true;
  installPhase = ''
    runHook preInstall
    ${lib.concatMapStringsSep "\n" (package: ''
      mkdir -p "$out/lib/node_modules/${package.directory}"
      tar -xzf ${fetchNpmPackage package} -C "$out/lib/node_modules/${package.directory}" \
        --strip-components=1 --no-same-owner --no-same-permissions
    '') pin.packages}
    chmod +x "${program}"
    makeWrapper ${if isScript then "${nodejs}/${nodejs.node}" else program} "$out/bin/${command}" \
      ${lib.optionalString isScript ''--add-flags "${program}"''} ${lib.escapeShellArgs wrapperArgs}
    runHook postInstall
  '';
  meta = {
    description = "${pin.package}, as homeroom pins it";
    license =
      if lib.hasPrefix "SEE LICENSE" pin.license then
        lib.licenses.unfree
      else
        lib.getLicenseFromSpdxId pin.license;
    mainProgram = command;
  };
}
