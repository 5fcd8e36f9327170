# homeroom as a Python package, with the names of what it needs read from pyproject.toml.
{ pkgs }:
let
  inherit (pkgs) lib python3 python3Packages;
  pyproject = lib.importTOML ../pyproject.toml;
  named = map (requirement: builtins.head (builtins.match "([A-Za-z0-9._-]+).*" requirement));
  from = packages: requirements: map (name: packages.${name}) (named requirements);
  # As hatchling finds it.
  version = builtins.elemAt (builtins.split ''__version__ = "([^"]+)"'' (
    builtins.readFile ../src/homeroom/__init__.py
  )) 1;

  dependencies = packages: from packages pyproject.project.dependencies;
  # Without the groups that it includes: no check here builds or installs distributions.
  testDependencies =
    packages: from packages (builtins.filter builtins.isString pyproject.dependency-groups.test);

  package = python3Packages.buildPythonPackage {
    pname = pyproject.project.name;
    version = builtins.head version;
    pyproject = true;
    src = lib.fileset.toSource {
      root = ../.;
      fileset = lib.fileset.unions [
        ../LICENSE
        ../README.md
        ../pyproject.toml
        ../src
      ];
    };
    build-system = from python3Packages pyproject.build-system.requires;
    dependencies = dependencies python3Packages;
    pythonImportsCheck = [ "homeroom.cli.main" ];
    meta.mainProgram = "homeroom";
  };
in
{
  inherit package;
  withHomeroom = python3.withPackages (_: [ package ]);
  forTests = python3.withPackages (packages: [ package ] ++ testDependencies packages);
  # With what homeroom needs and without homeroom: that is the source tree's.
  forDevelopment = python3.withPackages (
    packages: dependencies packages ++ testDependencies packages
  );
}
