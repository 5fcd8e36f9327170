"""The matrix in a real engine: what it catches, and what it leaves behind."""

import os
import re
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from homeroom import __version__
from homeroom.errors import ToolError
from homeroom.toolchain.store import Toolchain
from matrix import engine, image, owner
from matrix.context import ROOT, Context, Recipe
from matrix.package import Packages
from matrix.rig import Wish, rig
from tests.matrix.packing import pack

pytestmark = [pytest.mark.docker, pytest.mark.network, pytest.mark.timeout(600)]


def command(module: str, toolchain: Toolchain, *arguments: str | Path) -> list[str]:
    """Run with the caller's own environment: it leads to the engine and to the registries."""
    environ = ["env", f"HOMEROOM_TOOLCHAIN={toolchain.root}"]
    return [*environ, sys.executable, "-m", module, *map(str, arguments)]


def run(module: str, toolchain: Toolchain, *arguments: str | Path) -> tuple[int, str]:
    done = subprocess.run(
        command(module, toolchain, *arguments),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def containers(of: int | None = None) -> list[str]:
    """List the containers of matrices, or those of one."""
    client = engine.connect()
    listed = client.api.containers(all=True, filters={"label": owner.LABEL})
    owners = {each["Id"]: each["Labels"][owner.LABEL] for each in listed}
    return [each for each, name in owners.items() if of is None or f"/{of}/" in name]


def wait_until_cells_run(pid: int) -> None:
    deadline = time.monotonic() + 300
    while not containers(of=pid):
        assert time.monotonic() < deadline
        time.sleep(0.2)


@contextmanager
def started(
    toolchain: Toolchain, *arguments: str | Path, **environ: Path
) -> Iterator[subprocess.Popen[bytes]]:
    words = [f"{name}={value}" for name, value in environ.items()]
    with subprocess.Popen(
        ["env", *words, *command("matrix", toolchain, *arguments)],
        cwd=ROOT,
        start_new_session=True,
    ) as child:
        try:
            yield child
        finally:
            child.kill()


def test_an_srt_that_ignores_one_deny_is_caught_and_found(
    toolchain: Toolchain, tmp_path: Path
) -> None:
    good = pack(toolchain, tmp_path, "0.0.901")
    broken = pack(toolchain, tmp_path, "0.0.902", broken=True)
    output = ("--output", tmp_path / "results")
    status, told = run("matrix", toolchain, "--package", broken, *output)
    assert status == 1
    assert "srt 0.0.902 as plain" in told
    assert "(read.user-home): open, not refused" in told
    ends = ("--good", "0.0.83", "--package", good, "--package", broken)
    status, told = run("matrix.bisection", toolchain, "read.user-home", *ends, *output)
    assert status == 0
    assert "srt 0.0.901: refused" in told
    assert "srt 0.0.902: open" in told
    assert told.endswith("the first version with another read.user-home is srt 0.0.902\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_the_middle_leaves_nothing(
    toolchain: Toolchain, tmp_path: Path, number: signal.Signals
) -> None:
    with started(toolchain, "--srt", "0.0.83", "--output", tmp_path) as child:
        wait_until_cells_run(child.pid)
        os.kill(child.pid, number)
        assert child.wait(60) == 128 + number
        assert containers(of=child.pid) == []


def test_a_signal_while_an_image_is_built_leaves_no_file_and_no_container(
    toolchain: Toolchain, tmp_path: Path
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    arguments = ("--srt", "0.0.83", "--no-cache", "--output", tmp_path / "results")
    with started(toolchain, *arguments, TMPDIR=scratch) as child:
        deadline = time.monotonic() + 300
        # It is complete when the engine gets it.
        while not list(scratch.glob("*/context.tar")):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        os.kill(child.pid, signal.SIGINT)
        assert child.wait(60) == 128 + signal.SIGINT
    assert list(scratch.iterdir()) == []
    assert containers(of=child.pid) == []


class FailsHalfWay(Context):
    """A context whose second step fails."""

    def pack(self, recipe: Recipe) -> Path:
        steps = "ARG BASE_IMAGE\nFROM ${BASE_IMAGE} AS cell\nRUN echo so far so good\n"
        (self._directory / "Containerfile").write_text(f"{steps}RUN no-{recipe.target}\n")
        packed = self._directory / "context.tar"
        with tarfile.open(packed, "w") as archive:
            archive.add(self._directory / "Containerfile", "Containerfile")
        return packed


def test_a_build_that_fails_half_way_shows_its_log_and_leaves_no_container(
    toolchain: Toolchain, tmp_path: Path
) -> None:
    client = engine.connect()
    with rig(Wish(tmp_path / "results")) as made:
        context = FailsHalfWay(Packages(toolchain, {}), tmp_path, print)
        with pytest.raises(ToolError, match="could not be built") as caught:
            image.build(client, made.base, context, Recipe("0.0.83"))
    assert "the image of srt 0.0.83 could not be built" in caught.value.message
    assert "so far so good" in caught.value.message
    assert "no-cell: not found" in caught.value.message
    left = [each["Command"] for each in client.api.containers(all=True)]
    assert not [command for command in left if "no-cell" in command]


@pytest.mark.usefixtures("toolchain")
def test_equal_parts_give_equal_layers(tmp_path: Path) -> None:
    client = engine.connect()
    layers = []
    # The first may be there, made by somebody else at another time: all the better.
    for use_cache in (True, False):
        with rig(Wish(tmp_path, use_cache=use_cache)) as made:
            identity = made.image(Recipe("0.0.83"))
            found = client.images.get(identity)
            layers.append(found.attrs["RootFS"]["Layers"])
            assert found.labels["homeroom.srt"] == "0.0.83"
            assert found.labels["org.opencontainers.image.version"] == __version__
            assert found.labels["org.opencontainers.image.base.digest"] == made.base
    assert layers[0] == layers[1]


def test_the_documented_command_runs_an_agent_in_the_image_of_homeroom(
    toolchain: Toolchain, tmp_path: Path
) -> None:
    status, told = run("matrix", toolchain, "--image", "--output", tmp_path)
    assert (status, told) == (0, f"homeroom:{__version__}\n")
    page = (ROOT / "docs" / "how-to" / "use-the-image.md").read_text(encoding="utf-8")
    block = re.search(r"```sh\n(docker run (?:.*\n)+?)```", page)
    assert block, "the page shows how"
    done = subprocess.run(
        ["sh", "-c", block[1]], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Hello from a private, pinned, sandboxed room.")


def test_what_a_killed_one_left_the_next_removes_and_spares_the_one_beside_it(
    toolchain: Toolchain, tmp_path: Path
) -> None:
    with (
        started(toolchain, "--srt", "0.0.83", "--output", tmp_path / "a") as killed,
        started(toolchain, "--srt", "0.0.83", "--output", tmp_path / "b") as beside,
    ):
        wait_until_cells_run(killed.pid)
        os.kill(killed.pid, signal.SIGKILL)
        killed.wait()
        assert containers(of=killed.pid) != []
        wait_until_cells_run(beside.pid)
        engine.remove_leftovers(engine.connect())
        assert containers(of=killed.pid) == []
        assert beside.wait(300) == 0
