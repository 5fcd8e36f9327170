"""Guards that every test runs under, and the homes that tests run in."""

import os
import pwd
import re
import signal
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import hypothesis
import pytest

from homeroom.paths import locate
from homeroom.toolchain.store import TOOLCHAIN_VARIABLE, Toolchain, require
from tests.support.git import git
from tests.support.tree import Snapshot, changes, remove_tree, snapshot

# Where the agents and homeroom keep a user's own state. No test may touch it.
STORES = (".claude*", ".codex", ".config/homeroom", ".local/*/homeroom")
# The nox session gives the tests a HOME of their own. The account's true home is watched
# too, but less of it: the agent that runs this suite may be writing its own transcripts.
TRUE_STORES = (".claude/.credentials.json", ".codex/auth.json", *STORES[2:])

# What leads from here to the package registries, certificates above all.
REGISTRIES = re.compile(
    r"PIP_.+|npm_config_.+|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR)|REQUESTS_CA_BUNDLE"
    r"|CURL_CA_BUNDLE|(https?|all|no)_proxy",
    re.IGNORECASE,
)

OWN_TEMP = pytest.StashKey[Path]()

# Two cores shared with sandboxes are slow at times, which says nothing of the code.
hypothesis.settings.register_profile("homeroom", deadline=None)
hypothesis.settings.load_profile("homeroom")


@dataclass(frozen=True)
class PrivateHome:
    """A home for one test, and an environment in which homeroom finds only that.

    Attributes:
        home: HOME; empty, and open to nobody else.
        root: HOMEROOM_HOME, which nobody has made yet.
        env: The whole environment for a child; the test's own stays as it is.
    """

    home: Path
    root: Path
    env: dict[str, str]

    def with_env(self, **more: str | Path) -> Self:
        """Return the same home with more variables set."""
        added = {name: os.fspath(value) for name, value in more.items()}
        return replace(self, env=self.env | added)


def pytest_configure(config: pytest.Config) -> None:
    # Short, because the path of a unix socket ends at 107 bytes, and not below $TMPDIR,
    # which may be anything. The workers of xdist get directories in the controller's.
    if not config.option.basetemp:
        config.option.basetemp = tempfile.mkdtemp(prefix="hr-", dir=os.path.realpath("/tmp"))
        config.stash[OWN_TEMP] = Path(config.option.basetemp)
    # What is switched off for this process (nohup, a script's `&`) is so for all that it starts,
    # and homeroom leaves it off.
    for number in (signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    own = session.config.stash.get(OWN_TEMP, None)
    # After a failure the files stay to be looked at; a failed test shows its tmp_path.
    if own and exitstatus == 0:
        remove_tree(own)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # What a test asks for tells what it needs: nobody has to remember a mark.
    for item in items:
        if "toolchain" in getattr(item, "fixturenames", ()):
            item.add_marker("toolchain")


@pytest.fixture(autouse=True)
def _surroundings_unchanged() -> Iterator[None]:
    directory, environment = os.getcwd(), _environment()
    yield
    arrived, left = os.getcwd(), _environment()
    os.chdir(directory)
    assert left == environment, "the test changed its environment"
    assert arrived == directory, "the test changed its working directory"


@pytest.fixture(autouse=True, scope="session")
def _real_home_untouched() -> Iterator[None]:
    before = _real_stores()
    yield
    after = _real_stores()
    assert after == before, "\n".join(
        [
            "the user's own state changed while the tests ran. If an agent was at work in",
            "this home, run them by `nox -s test`, which gives them another; else it was a test:",
            *(
                f"{store}: {change}"
                for store in sorted(before.keys() | after.keys())
                for change in changes(before.get(store, {}), after.get(store, {}))
            ),
        ]
    )


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory for one test, whose path is short enough for the sockets in it."""
    return tmp_path_factory.mktemp("t")


@pytest.fixture
def private_home(tmp_path: Path) -> PrivateHome:
    """A home and an empty HOMEROOM_HOME, in which nothing is installed."""
    home, root = tmp_path / "home", tmp_path / "r"
    home.mkdir(mode=0o700)
    env = {
        "HOME": str(home),
        "HOMEROOM_HOME": str(root),
        "LANG": "C.UTF-8",
        "PATH": os.environ["PATH"],
        "TERM": "xterm-256color",
    }
    return PrivateHome(home, root, env)


@pytest.fixture
def ready_home(private_home: PrivateHome, toolchain: Toolchain) -> PrivateHome:
    """A private home in which homeroom uses the toolchain that all tests share."""
    return private_home.with_env(HOMEROOM_TOOLCHAIN=toolchain.root)


@pytest.fixture
def online_home(private_home: PrivateHome) -> PrivateHome:
    """A private home from which the registries can be reached; for `network` tests."""
    found = {name: value for name, value in os.environ.items() if REGISTRIES.fullmatch(name)}
    return private_home.with_env(**found)


@pytest.fixture
def workspace(private_home: PrivateHome) -> Path:
    """A git repository with one commit and an identity, below the private home."""
    directory = private_home.home / "project"
    directory.mkdir()
    git(directory, "init", "-q", "-b", "main")
    git(directory, "config", "user.name", "Test")
    git(directory, "config", "user.email", "test@example.invalid")
    git(directory, "commit", "-q", "--allow-empty", "-m", "start")
    return directory


@pytest.fixture(scope="session")
def toolchain() -> Toolchain:
    """The toolchain that all tests share, installed by the nox session."""
    found = {name: os.environ[name] for name in (TOOLCHAIN_VARIABLE,) if os.environ.get(name)}
    if not found:
        pytest.fail(
            f"{TOOLCHAIN_VARIABLE} names no installed toolchain: run the tests by "
            "`sh nox.sh -s test`, or set it to the `root` that `homeroom setup --json` reports"
        )
    return require(locate(found), found)


def _environment() -> dict[str, str]:
    # pytest's own variable names the phase of the test and so changes by itself.
    return {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}


def _real_stores() -> dict[Path, Snapshot]:
    true_home = Path(pwd.getpwuid(os.geteuid()).pw_dir)
    found = [path for pattern in STORES for path in Path.home().glob(pattern)]
    found += [path for pattern in TRUE_STORES for path in true_home.glob(pattern)]
    return {path: snapshot(path, contents=False) for path in found}
