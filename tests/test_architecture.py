"""Rules that hold for the source as a whole and that no linter has.

The order of imports is import-linter's: see ``tool.importlinter`` in pyproject.toml.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from tests.support.git import git

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "homeroom"
MODULES = sorted(SOURCE.rglob("*.py"))
OUTSIDE = [path for path in MODULES if path.relative_to(SOURCE).parts[0] != "provider"]
LONGEST_MODULE = 350

PROVIDERS = re.compile("claude|codex|anthropic|openai", re.IGNORECASE)
# srt has its origin with one provider, and homeroom repeats srt's own words to it: a
# variable that it reads, and what its mandatory denies cover.
WORDS_OF_SRT = {
    "sandbox/srt.py": {"CLAUDE_CODE_TMPDIR", "/tmp/claude"},
    "workspace.py": {".claude/agents", ".claude/commands"},
}

# What a start has no use for, or only sometimes: then the function that needs it imports it.
SLOW = frozenset(
    {"asyncio", "dataclasses", "docker", "email", "importlib.metadata", "keyring"}
    | {"logging", "psutil", "rich", "ssl", "tempfile", "tomlkit", "urllib.request"}
)

# In parts, or this file would be the first to break its rule.
REGISTRIES = [
    ".".join(host)
    for host in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("npmjs", "org"),
        ("npmjs", "com"),
        ("yarnpkg", "com"),
        ("debian", "org"),
        ("ubuntu", "com"),
    )
]


def providers_named(source: str, allowed: Collection[str] = ()) -> list[str]:
    """List what in a module names a provider: names and strings, but no prose.

    Comments and docstrings may, because what a provider does is a reason that they give.
    """
    tree = ast.parse(source)
    prose = {id(node) for node in _docstrings(tree)}
    found = []
    for node in ast.walk(tree):
        if id(node) in prose:
            continue
        found += [
            f"line {getattr(node, 'lineno', '?')}: {text}"
            for text in _texts(node)
            if text not in allowed and PROVIDERS.search(text)
        ]
    return found


def _docstrings(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield each string that stands alone as a statement: a docstring, or an attribute's."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value


def _texts(node: ast.AST) -> Iterator[str]:
    """Yield a node's own words: identifiers, keywords, imported names and constants."""
    for _field, value in ast.iter_fields(node):
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str):
                yield text
            elif isinstance(text, bytes):
                yield text.decode("utf-8", "replace")


@pytest.mark.parametrize(
    "source",
    [
        "import homeroom.provider.claude",
        "from homeroom.provider import codex as other",
        "codex_home = 1",
        "def start_claude(): ...",
        "run(claude=True)",
        "homes['.Claude'] = 1",
        "name = b'codex'",
        "path = f'{home}/.claude'",
        "match name:\n    case 'codex': ...",
        "host = 'api.anthropic.com'",
        "environment['CLAUDE_CODE_TMPDIR']",
    ],
)
def test_a_module_that_names_a_provider_is_found(source: str) -> None:
    assert providers_named(source)


@pytest.mark.parametrize(
    "source",
    [
        '"""Older claude versions do it otherwise."""',
        "def f():\n    '''As Codex has it.'''",
        "x = 1  # claude reads this",
        "class A:\n    name: str\n    '''Such as codex.'''",
    ],
)
def test_prose_may_name_a_provider(source: str) -> None:
    assert not providers_named(source)


@pytest.mark.parametrize("module", OUTSIDE, ids=lambda path: str(path.relative_to(SOURCE)))
def test_only_the_adapters_name_a_provider(module: Path) -> None:
    place = module.relative_to(SOURCE)
    allowed = WORDS_OF_SRT.get(str(place), ())
    assert providers_named(module.read_text(encoding="utf-8"), allowed) == []


@pytest.mark.parametrize("module", sorted(WORDS_OF_SRT))
def test_every_exception_is_needed(module: str) -> None:
    needed = providers_named((SOURCE / module).read_text(encoding="utf-8"))
    assert {line.partition(": ")[2] for line in needed} == WORDS_OF_SRT[module]


def test_no_module_is_too_long_to_be_read_at_once() -> None:
    lengths = {name: len(text.splitlines()) for name, text in tracked(".py")}
    assert len(lengths) > len(MODULES), "git does not list the modules: the rule proves nothing"
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_MODULE} == {}


def test_a_start_imports_nothing_slow() -> None:
    """Everything that a start at a terminal imports, whatever it then goes on to do."""
    code = "import sys, homeroom.cli.main, homeroom.launch, homeroom.run.sweep; print(*sys.modules)"
    argv = [sys.executable, "-I", "-c", code]
    loaded = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()
    assert "homeroom.session.foreground" in loaded
    assert SLOW.intersection(loaded) == frozenset()


def test_no_registry_is_written_down() -> None:
    """Where artifacts come from is the configuration of the machine, never of the repository."""
    named = [
        (name, host)
        for name, text in tracked()
        for host in REGISTRIES
        # A mail address of the Debian project, say, is no registry.
        if re.search(rf"(?<![\w@]){re.escape(host)}", text)
    ]
    assert named == []


def tracked(suffix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the files of the repository, those not yet added too, with their text."""
    names = git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    for name in sorted({name for name in names if name.endswith(suffix)}):
        path = ROOT / name
        if path.is_file() and not path.is_symlink():
            yield name, path.read_text(encoding="utf-8", errors="replace")
