"""``python -m matrix`` as a user runs it, where no engine is needed."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from homeroom.errors import TryAgainError, UsageError
from homeroom.toolchain.store import Toolchain
from matrix import catalogue, sbom
from matrix.context import ROOT
from matrix.package import NAME, Packages, version_of
from tests.conftest import PrivateHome
from tests.matrix.packing import pack


def matrix(home: PrivateHome, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "matrix", *arguments],
        cwd=ROOT,
        env=home.env | {"DOCKER_HOST": home.env.get("ENGINE", f"unix://{home.home}/no.sock")},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_the_job_list_names_every_version_once(private_home: PrivateHome) -> None:
    done = matrix(private_home, "--list-github")
    assert done.returncode == 0, done.stderr
    known = catalogue.load(ROOT / "container" / "matrix.toml")
    jobs = {job["name"]: job["words"] for job in json.loads(done.stdout)["include"]}
    versions = {f"srt {each}": f"--srt {each}" for each in known.srt.versions}
    assert versions.items() <= jobs.items()
    agents = {f"{name} {each}" for name in known.agents for each in known.agents[name]}
    assert jobs.keys() - versions.keys() == agents


def test_both_servers_get_the_same_jobs(private_home: PrivateHome) -> None:
    hub, lab = (
        json.loads(matrix(private_home, f"--list-{x}").stdout) for x in ("github", "gitlab")
    )
    assert [job["name"] for job in hub["include"]] == list(lab)
    for job in hub["include"]:
        assert f"matrix -- {job['words']} --user both" in lab[job["name"]]["script"][0]


def test_an_engine_without_rights_is_told_from_a_missing_one(
    private_home: PrivateHome, tmp_path: Path
) -> None:
    path = tmp_path / "engine.sock"
    with socket.socket(socket.AF_UNIX) as engine:
        engine.bind(str(path))
        path.chmod(0)
        done = matrix(private_home.with_env(ENGINE=f"unix://{path}"), "--ci")
    assert (done.returncode, done.stdout) == (69, "")
    # No mode keeps root out; for it nobody listens there.
    way = "start dockerd" if os.geteuid() == 0 else "add it to the engine's group"
    assert way in done.stderr


def test_without_an_engine_it_says_what_to_do(private_home: PrivateHome) -> None:
    done = matrix(private_home, "--ci")
    assert (done.returncode, done.stdout) == (69, "")
    assert "no container engine answers" in done.stderr
    assert "DOCKER_HOST" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("--jobs", "0"),
        ("--srt", "1", "--new"),
        ("--limit", "x"),
        ("--suite", "some"),
        ("--image", "--clean"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    private_home: PrivateHome, arguments: tuple[str, ...]
) -> None:
    done = matrix(private_home, *arguments)
    assert done.returncode == 2
    assert "usage: matrix" in done.stderr


def test_a_packed_srt_says_its_version(toolchain: Toolchain, tmp_path: Path) -> None:
    assert version_of(pack(toolchain, tmp_path, "0.0.901")) == "0.0.901"


def test_what_is_no_packed_srt_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "srt.tgz"
    with pytest.raises(UsageError, match="is no package of srt"):
        version_of(path)
    path.write_bytes(b"no archive")
    with pytest.raises(UsageError, match="is no package of srt"):
        version_of(path)


@pytest.mark.network
def test_a_version_that_does_not_exist_is_refused_before_anything_is_built(
    toolchain: Toolchain, tmp_path: Path
) -> None:
    packages = Packages(toolchain, {})
    with pytest.raises(UsageError, match=r"there is no srt 0\.0\.9999"):
        packages.require(["0.0.83", "0.0.9999"])
    with pytest.raises(UsageError, match=r"there is no srt 0\.0\.9999"):
        packages.fetch("0.0.9999", tmp_path / "srt")


def test_a_registry_that_does_not_answer_is_told_from_a_missing_version(
    toolchain: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("npm_config_registry", "http://127.0.0.1:9")
        patch.setenv("npm_config_fetch_retries", "0")
        with pytest.raises(TryAgainError, match="could not be fetched"):
            Packages(toolchain, {}).fetch("0.0.83", tmp_path / "srt")


def test_a_bill_names_every_package_and_is_the_same_each_time() -> None:
    listed = [("deb/debian", "bubblewrap", "0.8.0-2+deb12u1"), ("npm", NAME, "0.0.83")]
    made = sbom.document("0.0.83", listed)
    assert made == sbom.document("0.0.83", listed)
    assert [each["purl"] for each in json.loads(made)["components"]] == [
        "pkg:deb/debian/bubblewrap@0.8.0-2%2Bdeb12u1",
        "pkg:npm/%40anthropic-ai/sandbox-runtime@0.0.83",
    ]
