# One npm package as the registry has it. `npm pack` asks the registry that the machine is
# configured for, so that no address is written down, and the lock's integrity is the hash of
# the derivation: what arrives is what was locked, or nothing is.
{
  lib,
  stdenvNoCC,
  nodejs,
  registries,
}:
{
  name,
  version,
  integrity,
  ...
}:
stdenvNoCC.mkDerivation {
  name = "${lib.replaceStrings [ "@" "/" ] [ "" "-" ] name}-${version}.tgz";
  buildCommand = ''
    ${registries.prepare}
    export npm_config_cache=$TMPDIR/cache
    ${nodejs}/${nodejs.node} ${nodejs}/${nodejs.npm} pack ${lib.escapeShellArg "${name}@${version}"} \
      --silent --ignore-scripts --no-update-notifier --pack-destination "$TMPDIR"
    mv "$TMPDIR"/*.tgz "$out"
  '';
  outputHashMode = "flat";
  outputHash = integrity;
  inherit (registries) impureEnvVars;
}
