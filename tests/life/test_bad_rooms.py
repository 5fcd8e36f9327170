"""Rooms that are hard to remove: what can be is, what must not be is not, and the rest is told."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from homeroom.home import instance_of
from homeroom.run.find import lock_file
from tests.life.scene import SECRET, Scene, damage, holding
from tests.support.cli import homeroom_argv
from tests.support.runs import leftovers
from tests.support.tree import snapshot

MANY = 100_000
# A file system of its own, seen by these processes alone.
NAMESPACE = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-e", "-c")


def in_namespace(scene: Scene, prepare: str, *arguments: str | Path) -> CompletedProcess[str]:
    """Sweep where something was mounted first."""
    script = f'homeroom() {{ {" ".join(homeroom_argv())} "$@"; }}\n{prepare}'
    return subprocess.run(
        [*NAMESPACE, script, "sh", *map(str, arguments)],
        env=scene.env,
        cwd=scene.paths.state.parent.parent,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def verdicts(said: str) -> dict[str, str]:
    return {one["name"]: one["verdict"] for one in json.loads(said)["entries"]}


@pytest.fixture
def precious(tmp_path: Path) -> Iterator[Path]:
    """What is the user's, and must be there unchanged after each test."""
    directory = tmp_path / "precious"
    (directory / "deep").mkdir(parents=True)
    (directory / "deep" / "file").write_text("mine")
    (directory / "deep").chmod(0o500)
    before = snapshot(directory)
    yield directory
    assert snapshot(directory) == before


@pytest.mark.parametrize("mount", ["--bind", "--rbind", "-t tmpfs"])
def test_a_sweep_deletes_nothing_through_a_mount(scene: Scene, precious: Path, mount: str) -> None:
    """Neither one of another file system nor one of the same, which no device number tells."""
    run_id = scene.begin()
    instance = instance_of(scene.paths, run_id)
    # With letters that the kernel escapes, below a directory that is closed.
    place = instance.home / "in here" / "a\tb"
    place.mkdir(parents=True)
    scene.age()
    done = in_namespace(
        scene,
        f'mount {mount} "$1" "$2"\n'
        'chmod 500 "$3"; status=0; homeroom sweep --json || status=$?\n'
        "findmnt --noheadings --raw --output TARGET | grep trash\n"
        "exit $status",
        *("tmpfs" if "tmpfs" in mount else precious, place, place.parent),
    )
    document, _, mounted = done.stdout.rpartition("}\n")
    assert done.returncode == 1, done.stderr
    assert verdicts(document + "}")[run_id] == "failed"
    assert "something is mounted at" in document
    assert f"{run_id}" in mounted
    # Without the mount it goes.
    assert holding(scene.paths.state.parent) == []
    assert scene.main("sweep") == 0
    assert scene.is_gone(run_id)


def test_a_room_on_another_file_system_than_the_trash_is_swept(scene: Scene) -> None:
    for directory in (scene.paths.state, scene.paths.instances):
        directory.mkdir(mode=0o700, parents=True)
    make = (
        "import sys; from pathlib import Path; from homeroom import home, paths; import os\n"
        "from tests.life.scene import Scene\n"
        "at = Scene(paths.locate(os.environ), {}); at.begin(); at.age()"
    )
    done = in_namespace(
        scene,
        'mount -t tmpfs -o mode=0700 tmpfs "$1"\n'
        'PYTHONPATH="$2" "$3" -c "$4"\n'
        'ls "$1" >&2; homeroom sweep --json; homeroom sweep; find "$1" >&2',
        *(scene.paths.instances, Path(__file__).parents[2], sys.executable, make),
    )
    assert done.returncode == 0, done.stderr
    document, _, rest = done.stdout.rpartition("}\n")
    assert set(verdicts(document + "}").values()) == {"removed"}
    assert rest == "nothing to sweep\n"
    assert SECRET not in done.stdout
    left = done.stderr.splitlines()[-3:]
    assert [Path(line).name for line in sorted(left)] == ["instances", "CACHEDIR.TAG", "trash"]


def test_what_a_sweep_on_another_file_system_could_not_finish_is_finished(
    scene: Scene,
) -> None:
    trash = scene.paths.instances / "trash"
    for directory in (scene.paths.state, scene.paths.instances, trash):
        directory.mkdir(mode=0o700, parents=True)
    (trash / "old").mkdir()
    assert scene.main("sweep") == 0
    assert not (trash / "old").exists()


class Immutable:
    """Files that nobody may remove: really, where that can be had, else by another's ``rm``."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._patch = monkeypatch
        self._files: set[Path] = set()
        self._stubborn = False

    def make(self, path: Path) -> None:
        self._files.add(path)
        program = shutil.which("chattr")
        done = (
            subprocess.run([program, "+i", path], capture_output=True, check=False)
            if (program and os.geteuid() == 0)
            else None
        )
        if done is None or done.returncode != 0:
            self._pretend()

    def _pretend(self) -> None:
        from homeroom import trash

        real, self._stubborn = trash._run_tool, True

        def run_tool(name: str, *arguments: str) -> str:
            if name != "rm" or not self._stubborn:
                return real(name, *arguments)
            # Each tree of a batch by itself: the others of the same call do go.
            kept = {tree: one for tree in arguments for one in self._files if _holds(tree, one)}
            others = [argument for argument in arguments if argument not in kept]
            said = [
                f"rm: cannot remove '{one}': Operation not permitted\n" for one in kept.values()
            ]
            return real(name, *others) + "".join(said)

        self._patch.setattr(trash, "_run_tool", run_tool)

    def release(self, root: Path) -> None:
        self._stubborn = False
        for path in [found for one in self._files for found in root.rglob(one.name)]:
            subprocess.run(["chattr", "-i", path], capture_output=True, check=False)


def _holds(tree: str, path: Path) -> bool:
    return tree.startswith("/") and any(Path(tree).rglob(path.name))


@pytest.fixture
def immutable(monkeypatch: pytest.MonkeyPatch, scene: Scene) -> Iterator[Immutable]:
    made = Immutable(monkeypatch)
    yield made
    made.release(scene.paths.state.parent)


def test_an_immutable_file_is_named_and_its_room_goes_when_it_is_released(
    scene: Scene,
    immutable: Immutable,
    capsys: pytest.CaptureFixture[str],
) -> None:
    stuck, other = scene.begin(), scene.begin()
    immutable.make(_written(instance_of(scene.paths, stuck).home / "stuck-forever"))
    scene.age()
    assert scene.main("sweep") == 1
    found = verdicts(capsys.readouterr().out)
    assert found[other] == "removed"
    assert found[stuck] == "failed"
    assert not instance_of(scene.paths, stuck).root.exists()
    assert scene.main("sweep") == 1
    assert "Operation not permitted" in capsys.readouterr().out
    immutable.release(scene.paths.state.parent)
    scene.age()
    assert scene.main("sweep") == 0
    capsys.readouterr()
    assert scene.is_gone(stuck)
    assert scene.state_of(stuck) == "crashed"
    assert leftovers(scene.paths.state.parent) == []


def _written(path: Path) -> Path:
    path.write_text("here to stay")
    return path


def test_files_of_another_owner_are_named_or_removed_and_nothing_outside_is(
    scene: Scene,
    precious: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Root may remove them. Another user is told, as no user may give files away to show it."""
    run_id = scene.begin()
    home = instance_of(scene.paths, run_id).home
    (home / "out").symlink_to(precious)
    (home / "closed" / "deeper").mkdir(parents=True)
    _written(home / "closed" / "deeper" / "theirs")
    if os.geteuid() == 0:
        os.chown(home / "closed" / "deeper" / "theirs", 65534, 65534)
        os.chown(home / "closed", 65534, 65534)
    (home / "closed").chmod(0o500)
    scene.age()
    assert scene.main("sweep") == 0
    assert verdicts(capsys.readouterr().out) == {run_id: "removed"}
    assert scene.is_gone(run_id)


@pytest.mark.timeout(300)
def test_a_room_of_a_hundred_thousand_files_is_swept(
    scene: Scene,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run_id = scene.begin()
    home = instance_of(scene.paths, run_id).home
    for number in range(MANY // 1000):
        directory = home / f"d{number}"
        directory.mkdir()
        for name in range(1000):
            os.close(os.open(directory / str(name), os.O_CREAT, 0o600))
    scene.age()
    assert scene.main("sweep") == 0
    assert verdicts(capsys.readouterr().out) == {run_id: "removed"}
    assert scene.is_gone(run_id)


def test_a_removal_in_place_that_fails_can_still_be_told_as_ours(
    scene: Scene,
    immutable: Immutable,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a full disk there is no trash: the mark must not go before what it marks."""
    from homeroom import trash
    from homeroom.errors import StorageError

    def full(path: Path) -> None:
        raise StorageError(f"cannot make {path}: No space left on device")

    run_id = scene.begin()
    instance = instance_of(scene.paths, run_id)
    immutable.make(_written(instance.home / "zz-stuck"))
    scene.age()
    with monkeypatch.context() as patched:
        patched.setattr(trash, "ensure_private_dir", full)
        assert scene.main("sweep") == 1
    assert "Operation not permitted" in capsys.readouterr().out
    assert (instance.root / ".homeroom-instance").exists()
    immutable.release(scene.paths.state.parent)
    scene.age()
    assert scene.main("sweep") == 0
    assert verdicts(capsys.readouterr().out)[run_id] == "removed"
    assert scene.is_gone(run_id)


@pytest.mark.parametrize("how", ["deleted", "truncated", "empty", "newer"])
def test_a_dead_run_whose_record_is_no_good_is_stopped_and_leaves_nothing(
    scene: Scene,
    how: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run_id = scene.begin()
    path = scene.paths.runs / f"{run_id}.json"
    scene.age()
    damage(path, how)
    assert scene.main("list") == 0
    said = f"{run_id} is over, not swept, and its record is gone" if how == "deleted" else str(path)
    assert said in capsys.readouterr().err
    assert scene.main("transcript", run_id[:12]) == 73
    assert said in capsys.readouterr().err
    assert scene.main("stop", run_id[:12]) == 0
    assert scene.is_gone(run_id)
    assert holding(scene.paths.state.parent) == []
    assert not lock_file(scene.paths, run_id).exists()
