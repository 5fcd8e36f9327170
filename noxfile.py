"""Every check, build and try of this repository: ``nox --list``."""

import json
import os
import pwd
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import nox

# nox does not look for modules beside this file.
sys.path.insert(0, str(Path(__file__).resolve().parent))
from scripts import plain_user, with_container_engine
from scripts.plain_user import git_files

nox.needs_version = ">=2025.11.12"
nox.options.default_venv_backend = "venv"
nox.options.error_on_missing_interpreters = True

PYPROJECT = nox.project.load_toml("pyproject.toml")
LOCK = "src/homeroom/toolchain/lock"

# What homeroom and its tests ask of the system: the program that is looked for, and the
# package that has it on Debian and Ubuntu.
SYSTEM = {
    "bwrap": "bubblewrap",
    "chromium": "chromium",
    "dbus-daemon": "dbus",
    "git": "git",
    "gnome-keyring-daemon": "gnome-keyring",
    "socat": "socat",
    "tmux": "tmux",
}
# A container engine, and what makes its base image.
ENGINE = {"dockerd": "docker.io", "mmdebstrap": "mmdebstrap"}
PLAIN_USER = "homeroom-tests"
# Debian's release with the oldest Nix that the flake is tried with.
NIX_SUITE = "trixie"

# Of root's environment the plain user's pass keeps what leads to the registries, and the
# locale. Everything else is a clean login's.
KEPT = re.compile(
    r"PIP_(?!CACHE_DIR$).+|npm_config_(?!cache$|prefix$).+|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR)"
    r"|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|(https?|all|no)_proxy|LANG|LC_.+|TZ|TERM|CI",
    re.IGNORECASE,
)


@nox.session(tags=["default"])
def lint(session: nox.Session) -> None:
    """Style, import order between the layers, shell scripts and spelling."""
    session.install(*nox.project.dependency_groups(PYPROJECT, "lint"))
    session.run("ruff", "check", *session.posargs)
    session.run("ruff", "format", "--check")
    session.run("lint-imports", "--no-cache", env={"PYTHONPATH": "src"})
    session.run("shellcheck", *git_files("*.sh", ".ci/run", "container/base"))
    session.run("yamllint", "--strict", ".github", ".gitlab-ci.yml")
    schema = ("check-jsonschema", "--builtin-schema")
    workflows = git_files(".github/workflows/*.yml")
    session.run(*schema, "vendor.github-workflows", *workflows)
    session.run(*schema, "vendor.gitlab-ci", "--data-transform", "gitlab-ci", ".gitlab-ci.yml")
    session.run("zizmor", "--offline", "--quiet", ".github")
    session.run("codespell")


@nox.session(tags=["default"])
def typecheck(session: nox.Session) -> None:
    """Types, strictly: the package, its tests and this file."""
    groups = nox.project.dependency_groups(PYPROJECT, "test", "types")
    session.install(*PYPROJECT["project"]["dependencies"], *groups)
    session.run("mypy", *session.posargs)


@nox.session(tags=["default"])
def test(session: nox.Session) -> None:
    """The whole suite, its own setup included; as root it runs as a plain user too."""
    _require_system_packages(session)
    session.install(".", *nox.project.dependency_groups(PYPROJECT, "test"))
    _run_suite(session)
    if os.geteuid() == 0:
        _test_as_plain_user(session)


@nox.session(default=False)
def minimums(session: nox.Session) -> None:
    """The suite with the lowest version of each direct dependency."""
    _require_system_packages(session)
    lowest = [entry.replace(">=", "==") for entry in PYPROJECT["project"]["dependencies"]]
    session.install(".", *lowest, *nox.project.dependency_groups(PYPROJECT, "test"))
    _run_suite(session)


@nox.session(default=False)
def demo(session: nox.Session) -> None:
    """The real agent in the real sandbox, answered by a model server on this machine."""
    _require_system_packages(session, "bwrap", "socat")
    session.install(".")
    toolchain = _toolchain(session)
    with tempfile.TemporaryDirectory(prefix="homeroom-demo-") as at, session.chdir(at):
        session.run(
            *("homeroom", "start", "--demo", "--", "-p", *(session.posargs or ["hello"])),
            env={"HOMEROOM_HOME": _scratch(session, "homeroom"), "HOMEROOM_TOOLCHAIN": toolchain},
        )


@nox.session(default=False)
def lock(session: nox.Session) -> None:
    """Rewrite the pins from the registries and show what changed."""
    session.install(".")
    session.run("homeroom", "setup", "--upgrade-pins", LOCK, *session.posargs)
    session.run("git", "--no-pager", "diff", "--stat", "--patch", "--", LOCK, external=True)


@nox.session(default=False)
def bench(session: nox.Session) -> None:
    """Times and memory, against the bare tools doing the same."""
    _with_toolchain(session, "benchmarks/run.py")


@nox.session(default=False)
def compat(session: nox.Session) -> None:
    """Each agent's real program: as pinned, or ``-- --claude-version X``, ``--codex-version X``."""
    _with_toolchain(session, "scripts/compat.py", _scratch(session, "compat"))


@nox.session(default=False)
def soak(session: nox.Session) -> None:
    """The life of runs for long: crashes, races, faults; ``-- --minutes N``, 30 by default."""
    _with_toolchain(session, "scripts/soak.py")


@nox.session(default=False)
def nix(session: nox.Session) -> None:
    """The flake, by a real Nix in a store of its own; nixpkgs is stood in for."""
    _require_system_packages(session)
    # Never as root, whose builds could write into those directories of the host that they see.
    user = _plain_user(session, "nix")
    user.install("--editable", ".", *nox.project.dependency_groups(PYPROJECT, "test", "nix"))
    program = os.environ.get("HOMEROOM_NIX") or str(user.home / "nix/bin/nix")
    if not os.path.exists(program):
        user.run("tests/nix/get-nix.sh", NIX_SUITE, user.home / "nix")
    arguments = session.posargs or ["tests/nix", "--durations=10"]
    user.run("python", "-m", "pytest", "--timeout=600", *arguments, HOMEROOM_NIX=program)


@nox.session(default=False)
def matrix(session: nox.Session) -> None:
    """Every behaviour of a room for each version of srt, in containers."""
    _in_containers(session, "matrix", *session.posargs)


@nox.session(default=False)
def matrix_test(session: nox.Session) -> None:
    """What needs containers: the matrix's own tests, and rooms in them as a plain user too."""
    _require_system_packages(session, "git", "socat", "tmux")
    arguments = ["-m", "docker", *(session.posargs or ["tests"])]
    _in_containers(session, "pytest", *arguments, groups=("matrix", "test"))
    if os.geteuid() == 0:
        with with_container_engine.running() as address:
            account = _plain_account(session)
            with with_container_engine.relayed(str(address), account) as theirs:
                suite = ("-m", "docker", "tests/container")
                _test_as_plain_user(session, *suite, DOCKER_HOST=theirs)


@nox.session(default=False)
def bisect(session: nox.Session) -> None:
    """The first version of srt that changed a behaviour: its name comes after ``--``."""
    _in_containers(session, "matrix.bisection", *session.posargs)


def _in_containers(
    session: nox.Session, module: str, *arguments: str, groups: tuple[str, ...] = ("matrix",)
) -> None:
    session.install(".", *nox.project.dependency_groups(PYPROJECT, *groups))
    if os.geteuid() == 0 and shutil.which("apt-get"):
        missing = [package for name, package in ENGINE.items() if not shutil.which(name)]
        if missing:
            _apt_install(session, *missing)
    beside = ("python", "scripts/with_container_engine.py")
    environ = {"HOMEROOM_TOOLCHAIN": _toolchain(session)}
    session.run(*beside, "python", "-m", module, *arguments, env=environ)


def _with_toolchain(session: nox.Session, *script: str) -> None:
    _require_system_packages(session)
    session.install(".", *nox.project.dependency_groups(PYPROJECT, "test"))
    environ = {"HOMEROOM_TOOLCHAIN": _toolchain(session)}
    session.run("python", *script, *session.posargs, env=environ)


def _run_suite(session: nox.Session) -> None:
    toolchain = _toolchain(session)
    # A home of its own: the guard that watches it must not see what others do in the real one.
    with tempfile.TemporaryDirectory(prefix="homeroom-tests-") as home:
        session.run(
            *_pytest("python", *session.posargs),
            env={"HOME": home, "HOMEROOM_TOOLCHAIN": toolchain},
        )


def _pytest(python: str, *arguments: str) -> list[str]:
    # Two workers, not one a core: each test may hold an agent, a sandbox and a server.
    # The flake and the containers have sessions of their own.
    chosen = ("--ignore=tests/nix", "-m", "not docker")
    return [python, "-m", "pytest", "-n", "2", *chosen, *arguments]


def _require_system_packages(session: nox.Session, *programs: str) -> None:
    missing = [SYSTEM[program] for program in programs or SYSTEM if not shutil.which(program)]
    if missing:
        _apt_install(session, *missing)


def _apt_install(session: nox.Session, *packages: str) -> None:
    install = ["apt-get", "install", "-y", "--no-install-recommends", *packages]
    sudo = [] if os.geteuid() == 0 else ["sudo"]
    if not shutil.which("apt-get"):
        session.error(f"install these with your package manager: {' '.join(packages)}")
    if not all(map(shutil.which, sudo)):
        session.error(f"these packages are missing; as root, run: {shlex.join(install)}")
    session.run(*sudo, "apt-get", "update", "-q", external=True)
    # sudo drops the environment, and without this word some packages ask questions.
    quiet = ["env", "DEBIAN_FRONTEND=noninteractive"]
    session.run(*sudo, *quiet, *install, external=True)


def _scratch(session: nox.Session, *parts: str) -> str:
    # Absolute, and not by the working directory, which a session may leave.
    return str(Path(__file__).resolve().parent.joinpath(session.cache_dir, *parts))


def _toolchain(session: nox.Session) -> str:
    """Install the pinned tools, once for all sessions, and say where they are."""
    report = session.run(
        *("homeroom", "setup", "--json"),
        env={"HOMEROOM_HOME": _scratch(session, "homeroom")},
        silent=True,
        stderr=None,
    )
    return str(json.loads(str(report))["root"])


def _test_as_plain_user(session: nox.Session, *chosen: str, **more: str) -> None:
    """Run the suite once more as the people do for whom it is: without root's rights."""
    user = _plain_user(session, "test")
    user.environment |= more
    user.install(".", *nox.project.dependency_groups(PYPROJECT, "test"))
    # A toolchain is private to its user, so that this one needs its own.
    homeroom_home = str(user.home / "homeroom")
    report = user.run("homeroom", "setup", "--json", capture=True, HOMEROOM_HOME=homeroom_home)
    # What needs the registries was shown by root's pass a moment ago, and has no rights to
    # lack; everything that has, the agents in their rooms above all, runs again.
    suite = _pytest("python", *(chosen or ("-m", "not network and not docker")), *session.posargs)
    user.run(*suite, HOMEROOM_TOOLCHAIN=str(json.loads(report)["root"]))


class _User:
    """A user without root's rights, with a copy of the checkout and an environment of Python.

    Args:
        session: The session that needs it.
        account: Who; root may be anybody, everybody else is only themselves.
        home: Where the copy and the environment are made.
        purpose: What for; each has its own of both.
    """

    def __init__(
        self, session: nox.Session, account: pwd.struct_passwd, home: Path, purpose: str
    ) -> None:
        self.session, self.account, self.home = session, account, home
        self.checkout, self.venv = home / f"{purpose}-checkout", home / f"{purpose}-venv"
        kept = {name: value for name, value in os.environ.items() if KEPT.fullmatch(name)}
        self.environment = kept | {
            "HOME": str(home),
            "USER": account.pw_name,
            "LOGNAME": account.pw_name,
            "PATH": f"{self.venv}/bin:/usr/local/bin:/usr/bin:/bin",
        }

    def install(self, *arguments: str) -> None:
        self.run("pip", "install", "-q", *arguments)

    def run(self, *command: str | Path, capture: bool = False, **more: str) -> str:
        self.session.log(f"{self.account.pw_name}$ {shlex.join(map(str, command))}")
        done = subprocess.run(
            command,
            cwd=self.checkout,
            env=self.environment | more,
            stdout=subprocess.PIPE if capture else None,
            text=True,
            check=False,
            **plain_user.identity(self.account),
        )
        if done.returncode:
            who = self.account.pw_name
            self.session.error(f"{command[0]} ended with {done.returncode} as {who}")
        return done.stdout or ""


def _plain_user(session: nox.Session, purpose: str) -> _User:
    if os.geteuid() == 0:
        account = _plain_account(session)
        user = _User(session, account, Path(account.pw_dir), purpose)
    else:
        account = pwd.getpwuid(os.geteuid())
        user = _User(session, account, Path(session.create_tmp()).resolve(), purpose)
    plain_user.copy_checkout(git_files(), user.checkout, account)
    # The copy is a repository too: some tests ask git which files are tracked.
    user.run("git", "init", "-q")
    user.run("git", "add", "--all")
    user.run(_python_for(session, account), "-m", "venv", "--clear", user.venv)
    return user


def _plain_account(session: nox.Session) -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(PLAIN_USER)
    except KeyError:
        session.run("useradd", "-m", "-s", "/bin/sh", PLAIN_USER, external=True)
        return pwd.getpwnam(PLAIN_USER)


def _python_for(session: nox.Session, account: pwd.struct_passwd) -> str:
    """Find a Python for another user: ours may live in root's home, which is closed."""

    def works(python: str) -> bool:
        probe = "import ensurepip, sys; sys.exit(sys.version_info < (3, 11))"
        try:
            return not subprocess.run(
                [python, "-c", probe], check=False, cwd="/", env={}, **plain_user.identity(account)
            ).returncode
        except OSError:
            return False

    system = "/usr/bin/python3"
    for python in (os.path.realpath(sys.executable), system):
        if works(python):
            return python
    _apt_install(session, "python3", "python3-venv")
    if not works(system):
        session.error(f"{system} is older than 3.11, and no other Python is open to plain users")
    return system
