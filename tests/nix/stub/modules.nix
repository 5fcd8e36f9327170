# Modules, as far as ours go: options with defaults, and one definition for each setting.
# Nothing declares what NixOS and home-manager would, so that any setting passes.
let
  isCondition = value: builtins.isAttrs value && value ? _condition;
  # Drop what a false `mkIf` holds, and unwrap what a true one does.
  settled =
    value:
    if isCondition value then
      (if value._condition then settled value.content else { })
    else if builtins.isAttrs value && !(value ? outPath) then
      builtins.mapAttrs (_: settled) value
    else
      value;
  merged =
    a: b:
    if builtins.isAttrs a && builtins.isAttrs b && !(a ? outPath) then
      a // builtins.mapAttrs (name: value: if a ? ${name} then merged a.${name} value else value) b
    else
      b;
  isOption = value: value ? _isOption;
  defaults =
    options:
    if isOption options then options.default or null else builtins.mapAttrs (_: defaults) options;
in
{
  mkIf = condition: content: {
    _condition = condition;
    inherit content;
  };
  mkOption = option: option // { _isOption = true; };
  mkEnableOption = _: {
    _isOption = true;
    default = false;
  };
  literalExpression = text: text;
  types = {
    bool = "bool";
    package = "package";
    path = "path";
    nullOr = type: "null or ${type}";
  };
  evalModules =
    { modules, specialArgs }:
    let
      call = module: if builtins.isFunction module then module (specialArgs // { config = chosen; }) else module;
      flat = builtins.concatMap (module: [ (call module) ] ++ flat (call module).imports or [ ]);
      all = flat modules;
      # What our modules look at are their own options, which plain modules set: so these come
      # first, and no setting has to be known before itself.
      declared = builtins.foldl' merged { } (map (module: module.options or { }) all);
      plain = builtins.filter (module: !builtins.isFunction module) modules;
      chosen = builtins.foldl' merged (defaults declared) plain;
      config = builtins.foldl' merged chosen (map (module: settled (module.config or { })) all);
    in
    {
      inherit config;
    };
}
