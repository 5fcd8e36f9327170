"""Images: what cannot be made, and what is removed."""

import os
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest
from docker.errors import BuildError

from homeroom.errors import HomeroomError, StorageError, ToolError, UsageError
from homeroom.toolchain import child
from homeroom.toolchain.store import Toolchain
from matrix import image
from matrix.context import Context, Recipe
from matrix.package import Packages
from tests.matrix.fake_engine import FakeClient, refusal


def failed(*log: str) -> BuildError:
    """Make what the SDK raises when a build fails."""
    return BuildError("a step failed", iter([{"stream": line} for line in log]))


class ContextStandIn(Context):
    """A context that packs nothing."""

    def key(self, base: str, recipe: Recipe) -> str:
        return f"{base}-{recipe}"

    def pack(self, recipe: Recipe) -> Path:
        assert recipe.srt
        return Path(os.devnull)


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return ContextStandIn(Packages(None, {}), tmp_path, print)  # type: ignore[arg-type]


def test_a_base_of_the_users_that_is_missing_is_named_and_never_pulled() -> None:
    with pytest.raises(UsageError, match="debian:bookworm is not there") as caught:
        image.ensure_base(FakeClient(), "debian:bookworm", print)  # type: ignore[arg-type]
    assert caught.value.hint == "docker pull debian:bookworm"


def test_a_base_that_is_there_is_pinned_by_its_id() -> None:
    client: Any = FakeClient("mine", image.BASE)
    assert image.ensure_base(client, "mine", print) == "sha256:mine"
    assert image.ensure_base(client, None, print) == f"sha256:{image.BASE}"


def test_a_base_that_cannot_be_made_shows_the_end_of_what_was_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = tmp_path / "container" / "base"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\necho 'E: the archive does not answer' >&2\nexit 100\n")
    script.chmod(0o755)
    monkeypatch.setattr(image, "ROOT", tmp_path)
    with pytest.raises(ToolError, match="the archive does not answer"):
        image.ensure_base(FakeClient(), None, print)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (failed("Step 3\n", "COPY failed: no such file"), ToolError, "COPY failed"),
        (failed("write /layer: no space left on device"), StorageError, "the disk is full"),
        (refusal("no space left on device"), StorageError, "the disk is full"),
        (refusal("dockerfile parse error"), ToolError, "dockerfile parse error"),
    ],
)
def test_a_build_that_fails_shows_its_log(
    context: Context, error: Exception, kind: type[HomeroomError], said: str
) -> None:
    client: Any = FakeClient()

    def fail(**_: Any) -> None:
        raise error

    client.images.built = fail
    with pytest.raises(kind, match=said) as caught:
        image.build(client, "base", context, Recipe("0.0.83"))
    assert "0.0.83" in caught.value.message or "the engine refused" in caught.value.message


def test_a_base_that_was_made_otherwise_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    client: Any = FakeClient(image.BASE)
    client.images.labels = {"homeroom.base": "of an earlier container/base"}

    def fail(*_: object) -> None:
        raise ToolError("made anew")

    monkeypatch.setattr(child, "run", fail)
    with pytest.raises(ToolError, match="made anew"):
        image.ensure_base(client, None, print)


def test_a_disk_that_is_full_while_a_context_is_packed_is_said_to_be_full(
    toolchain: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = Context(Packages(toolchain, {}), tmp_path, print)
    vars(context)["_shared"] = toolchain.root / "node"
    monkeypatch.setattr(Packages, "fetch", lambda *_: None)
    (tmp_path / "context.tar").symlink_to("/dev/full")
    with pytest.raises(StorageError, match="No space left on device"):
        context.pack(Recipe("0.0.83"))


@pytest.mark.network
def test_a_context_names_every_directory_before_what_is_in_it(
    toolchain: Toolchain, tmp_path: Path
) -> None:
    """One that the builder has to make would have the time of day, and change its layer."""
    with tarfile.open(
        Context(Packages(toolchain, {}), tmp_path, print).pack(Recipe("0.0.83"))
    ) as it:
        entries = it.getmembers()
    named = {""}
    for entry in entries:
        assert entry.name.rpartition("/")[0] in named, entry.name
        assert entry.mtime == 0
        named |= {entry.name} if entry.isdir() else set()


def test_a_new_image_replaces_old_ones_of_its_version_but_none_that_may_be_in_another_ones_hands(
    context: Context,
) -> None:
    client: Any = FakeClient()
    hour_ago = time.time() - 4000
    for name, version, made in (
        ("old", "0.0.83", hour_ago),
        ("young", "0.0.83", time.time()),
        ("other", "0.0.82", hour_ago),
    ):
        labels = {"homeroom.srt": version, "homeroom.agents": "", "homeroom.target": "cell"}
        client.api.images_there[name] = {"Labels": labels, "Created": made}
    made = type("Image", (), {"id": "sha256:new"})()
    client.images.built = lambda **_: (made, [])
    assert image.build(client, "base", context, Recipe("0.0.83")) == "sha256:new"
    assert client.api.images_there.keys() == {"young", "other"}


def test_cleaning_removes_what_matrices_made_and_nothing_else() -> None:
    client: Any = FakeClient()
    for name, label in (
        ("cell", "homeroom.matrix"),
        ("used", "homeroom.matrix"),
        ("base", "homeroom.base"),
        ("users", "maintainer"),
    ):
        client.api.images_there[name] = {"Labels": {label: "true"}, "Created": 0}
    client.api.in_use = {"used"}
    assert image.remove_all(client) == 2
    assert client.api.images_there.keys() == {"used", "users"}
