# What a derivation that fetches takes from the machine, as pip and npm themselves would: where
# the registries are, and whom to trust.
{ lib }:
{
  impureEnvVars = lib.fetchers.proxyImpureEnvVars ++ [
    "NIX_SSL_CERT_FILE"
    "PIP_DEFAULT_TIMEOUT"
    "PIP_EXTRA_INDEX_URL"
    "PIP_INDEX_URL"
    "npm_config_registry"
  ];
  prepare = ''
    export HOME=$TMPDIR
    # Under the second name Nix shows a build the certificates that it trusts itself.
    for bundle in "''${NIX_SSL_CERT_FILE-}" /etc/ssl/certs/ca-certificates.crt; do
      if [ -r "$bundle" ]; then export PIP_CERT=$bundle NODE_EXTRA_CA_CERTS=$bundle; fi
    done
  '';
}
