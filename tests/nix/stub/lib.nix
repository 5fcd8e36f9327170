# What homeroom's flake uses of nixpkgs' lib, written from its documentation.
let
  inherit (builtins)
    any
    attrNames
    concatStringsSep
    elemAt
    filter
    isList
    isString
    length
    listToAttrs
    mapAttrs
    replaceStrings
    split
    stringLength
    substring
    ;
in
rec {
  inherit concatStringsSep mapAttrs replaceStrings;
  genAttrs =
    names: f:
    listToAttrs (
      map (name: {
        inherit name;
        value = f name;
      }) names
    );
  mapAttrsToList = f: set: map (name: f name set.${name}) (attrNames set);
  optional = condition: value: optionals condition [ value ];
  optionals = condition: values: if condition then values else [ ];
  optionalString = condition: text: if condition then text else "";
  concatStrings = concatStringsSep "";
  concatMapStrings = concatMapStringsSep "";
  concatMapStringsSep =
    separator: f: values:
    concatStringsSep separator (map f values);
  hasPrefix = prefix: text: substring 0 (stringLength prefix) text == prefix;
  hasSuffix =
    suffix: text: substring (stringLength text - stringLength suffix) (stringLength suffix) text == suffix;
  last = values: elemAt values (length values - 1);
  splitString = separator: text: filter isString (split separator text);
  escapeShellArg = text: "'${replaceStrings [ "'" ] [ "'\\''" ] (toString text)}'";
  escapeShellArgs = concatMapStringsSep " " escapeShellArg;
  importTOML = path: builtins.fromTOML (builtins.readFile path);

  getName = package: package.pname or (builtins.parseDrvName package.name).name;
  getLib = package: package.lib or package;
  getExe = package: "${package}/bin/${package.meta.mainProgram or (getName package)}";
  makeBinPath = concatMapStringsSep ":" (package: "${package}/bin");

  licenses = {
    asl20.free = true;
    mit.free = true;
    unfree.free = false;
  };
  getLicenseFromSpdxId =
    id:
    {
      "Apache-2.0" = licenses.asl20;
      "MIT" = licenses.mit;
    }
    .${id};
  # nixpkgs' check, which is why a flake must allow what is unfree by name.
  refusesUnfree =
    config: attrs:
    let
      given = attrs.meta.license or [ ];
      unfree = any (license: !license.free) (if isList given then given else [ given ]);
    in
    unfree && !(config.allowUnfree or false) && !(config.allowUnfreePredicate or (_: false)) attrs;

  fetchers.proxyImpureEnvVars = [
    "http_proxy"
    "https_proxy"
    "no_proxy"
    "HTTP_PROXY"
    "HTTPS_PROXY"
    "NO_PROXY"
  ];

  # A set of files is the list of their paths here.
  fileset = {
    unions = paths: paths;
    toSource =
      { root, fileset }:
      let
        isBelow = path: directory: path == directory || hasPrefix "${directory}/" path;
        wanted = map toString fileset;
      in
      builtins.path {
        path = root;
        name = "source";
        filter = path: _: any (want: isBelow path want || isBelow want path) wanted;
      };
  };
}
// import ./modules.nix
