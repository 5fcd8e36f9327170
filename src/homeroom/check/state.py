"""Probes of what homeroom keeps."""

import os
import shlex
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from homeroom import adoption, aftermath, home, memory, trash
from homeroom.check.model import Finding, Probe, Surroundings, fail, ok, skipped, warn
from homeroom.errors import StateError
from homeroom.run import lock, record, sweep

_SWEEP = "homeroom sweep"


def _configuration(around: Surroundings) -> Finding:
    """Read config.toml; what is wrong in it is raised, with its place."""
    _ = around.config
    file = around.paths.config_file
    return ok(f"{file} is understood" if file.exists() else f"there is no {file}: defaults")


def _memory(around: Surroundings) -> Finding:
    """Look whether rooms can be kept where the configuration wants them; else it is raised."""
    if around.config.run.credentials_in == "disk":
        return skipped("rooms are kept on the disk (run.credentials_in)")
    place = memory.require(around.paths, around.environ)
    usage = shutil.disk_usage(place.parent)
    return ok(f"rooms are kept in {place}, with {usage.free / 1e6:.0f} MB free")


def _directories(around: Surroundings) -> tuple[Path, ...]:
    paths = around.paths
    own = (paths.state, paths.runs, paths.transcripts, paths.trash, paths.temp, paths.places)
    vault = paths.state / "vault"
    rooms = (*memory.known(paths), *home.all_rooms(paths))
    return (*own, *rooms, vault, vault / "files", paths.data, paths.toolchains)


def _permissions(around: Surroundings) -> Finding:
    wrong: list[str] = []
    for path in _directories(around):
        try:
            status = os.lstat(path)
        except FileNotFoundError:
            continue
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            return fail(f"{path} is not a directory of yours", f"move {path} out of the way")
        if status.st_mode & 0o077:
            wrong.append(str(path))
    if wrong:
        return fail(f"open to other users: {', '.join(wrong)}", f"chmod 700 {shlex.join(wrong)}")
    return ok("every directory is yours alone")


def _tighten(around: Surroundings) -> str:
    done: list[str] = []
    for path in _directories(around):
        descriptor = _open_directory(path)
        if descriptor is None:
            continue
        try:
            if os.fstat(descriptor).st_mode & 0o077:
                os.fchmod(descriptor, 0o700)
                done.append(str(path))
        finally:
            os.close(descriptor)
    return f"made private: {', '.join(done)}"


def _open_directory(path: Path) -> int | None:
    try:
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None


def _runs(around: Surroundings) -> Iterator[tuple[home.Instance, bool]]:
    """Yield each run that a sweep knows of, and whether it would take it."""
    for entry in sweep.sweep(around.paths, dry_run=True).entries:
        if home.RUN_ID.fullmatch(entry.name):
            yield home.instance_of(around.paths, entry.name), entry.verdict == "would remove"


def _has_tree(instance: home.Instance) -> bool:
    return os.path.lexists(instance.root) or os.path.lexists(instance.temp)


def _orphans(around: Surroundings) -> Finding:
    runs = list(_runs(around))
    dead = sum(is_dead and _has_tree(instance) for instance, is_dead in runs)
    alive = sum(lock.is_held(around.paths.runs / f"{instance.run_id}.lock") for instance, _ in runs)
    if dead:
        return warn(f"{dead} rooms of dead runs are left; {alive} runs are alive", _SWEEP)
    return ok(f"none; {alive} runs are alive")


def _sweep(around: Surroundings) -> str:
    masters = adoption.Places(around.paths, around.config, around.environ, around.homes[0])
    report = aftermath.sweep_dead(around.paths, places=masters)
    return f"swept: {report.count('removed')} removed, {report.count('failed')} failed"


def _locks(around: Surroundings) -> Finding:
    """Look for a lock that nobody holds; one beside a room is the room's matter."""
    if not around.paths.runs.is_dir():
        return skipped("no run has been started yet")
    stale = [
        path.name
        for path in sorted(around.paths.runs.glob("run_*.lock"))
        if home.RUN_ID.fullmatch(path.stem)
        and not _has_tree(home.instance_of(around.paths, path.stem))
        and not lock.is_held(path)
        and lock.age(path) > sweep.YOUNGEST
    ]
    if stale:
        return warn(f"{len(stale)} locks that nobody holds, {stale[0]} for one", _SWEEP)
    return ok("every lock is held by a living run")


def _records(around: Surroundings) -> Finding:
    if not around.paths.runs.is_dir():
        return skipped("no run has been started yet")
    damaged: list[Path] = []
    files = sorted(around.paths.runs.glob("run_*.json"))
    for path in files:
        try:
            record.read(path)
        except (StateError, FileNotFoundError):
            damaged.append(path)
    if damaged:
        return warn(
            f"{len(damaged)} records cannot be read, {damaged[0]} for one",
            f"rm {shlex.quote(str(damaged[0]))}",
        )
    return ok(f"{len(files)} records")


def _open_records(around: Surroundings) -> Finding:
    """Look for a run that its record calls alive, of which nothing else is left."""
    dead = [
        instance.run_id
        for instance, is_dead in _runs(around)
        if is_dead
        and not _has_tree(instance)
        and not os.path.lexists(around.paths.runs / f"{instance.run_id}.lock")
    ]
    if dead:
        return warn(f"{len(dead)} dead runs are recorded as alive, {dead[0]} for one", _SWEEP)
    return ok("every run that has ended is recorded as ended")


def _trash(around: Surroundings) -> Finding:
    paths = around.paths
    in_memory = (place / "trash" for place in memory.places(paths))
    left = trash.leftovers((paths.trash, paths.temp / "trash", *in_memory))
    if left:
        return warn(f"{len(left)} trees could not be removed, {left[0]} for one", _SWEEP)
    return ok("the trash is empty")


def _marks(around: Surroundings) -> Finding:
    """Look for entries that a sweep will never take, because homeroom did not make them."""
    rooms = [path for path in home.all_rooms(around.paths) if path.is_dir()]
    if not rooms:
        return skipped("no run has been started yet")
    foreign = [
        path / name
        for path in rooms
        for name in sorted(os.listdir(path))
        if name != "CACHEDIR.TAG" and not _is_ours(around, name)
    ]
    if foreign:
        return warn(
            f"not made by homeroom, and left alone: {foreign[0]}",
            "look at it, and remove it by hand",
        )
    return ok("everything there is homeroom's own")


def _is_ours(around: Surroundings, name: str) -> bool:
    if not home.RUN_ID.fullmatch(name):
        return False
    return home.is_marked(home.instance_of(around.paths, name))


def _use(around: Surroundings) -> Finding:
    paths = around.paths
    parts = {
        "toolchains": paths.toolchains,
        "transcripts": paths.transcripts,
        "trash": paths.trash,
    }
    sizes = {"rooms": sum(map(_size, home.all_rooms(paths)))}
    sizes |= {name: _size(path) for name, path in parts.items()}
    said = ", ".join(f"{name} {size / 1e6:.0f} MB" for name, size in sizes.items())
    current = around.toolchain.root if around.toolchain else None
    older = [
        path for path in sorted(paths.toolchains.glob("*")) if path.is_dir() and path != current
    ]
    if current and current.parent == paths.toolchains and older:
        said += f"; {len(older)} toolchains are of other pins, {older[0]} for one"
    return ok(said)


def _size(tree: Path) -> int:
    return sum(
        os.lstat(os.path.join(parent, name)).st_blocks * 512
        for parent, _, names in os.walk(tree)
        for name in names
        if os.path.lexists(os.path.join(parent, name))
    )


_PRIVATE = ("state.permissions",)

PROBES = (
    Probe("state.configuration", "The configuration is understood", _configuration),
    Probe(
        "state.memory",
        "Rooms can be kept in memory, if they shall be",
        _memory,
        needs=("state.configuration",),
    ),
    Probe("state.permissions", "The directories are private", _permissions, fix=_tighten),
    Probe("state.orphans", "No room of a dead run is left", _orphans, fix=_sweep, needs=_PRIVATE),
    Probe("state.locks", "No lock is stale", _locks, fix=_sweep, needs=_PRIVATE),
    Probe("state.records", "Every record can be read", _records, needs=_PRIVATE),
    Probe(
        "state.open-records",
        "No dead run is recorded as alive",
        _open_records,
        fix=_sweep,
        needs=_PRIVATE,
    ),
    Probe("state.trash", "The trash is empty", _trash, fix=_sweep, needs=_PRIVATE),
    Probe("state.foreign", "Nothing foreign lies among the rooms", _marks, needs=_PRIVATE),
    Probe("state.use", "What homeroom keeps has a size", _use, is_quick=False),
)
