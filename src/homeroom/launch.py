"""A run from its allocation to its wipe: plan, launch, finish."""

import os
import resource
import time
from collections.abc import Callable, Mapping

import msgspec

from homeroom import adoption, archive, farewell, home, memory, notice, plan, readiness, worktree
from homeroom.config import Config
from homeroom.errors import EndedBySignalError, HomeroomError, SandboxError, StateError
from homeroom.files import ensure_private_dir, explain, is_there
from homeroom.paths import Paths
from homeroom.plan import Plan
from homeroom.policy import existing
from homeroom.process import identity
from homeroom.provider.common import apply, changed
from homeroom.request import Request
from homeroom.run import find, lock, place, record
from homeroom.run.lock import RunLock
from homeroom.run.record import Record
from homeroom.sandbox import Command
from homeroom.sandbox.srt import Srt
from homeroom.session.child import Child, spawn
from homeroom.session.foreground import Foreground, Outcome
from homeroom.session.limits import Limits
from homeroom.session.signals import Signals
from homeroom.unwind import Unwind
from homeroom.workspace import condition

Tell = Callable[[str], None]
BeforeWipe = Callable[[Plan], object]
_LOCK_TRIES = 100
# Above it stands the number of the signal that ended the agent, as in a shell.
_SIGNALLED = 128


def start(
    request: Request,
    environ: Mapping[str, str],
    paths: Paths,
    config: Config,
    signals: Signals,
    tell: Tell,
    before_wipe: BeforeWipe | None = None,
) -> int:
    """Do a whole run, from its lock to its wipe.

    Lock, record, materialize, seed, inject, settings, spawn, wait; then archive, wipe,
    record, unlock, and ask whether the archive stays, if that is wanted.

    Args:
        request: What the user asked for.
        environ: The caller's environment.
        paths: homeroom's directories.
        config: The user's configuration.
        signals: This process's signals, already collected.
        tell: Says a line to the user, on standard error.
        before_wipe: Called with the plan when the agent has come and gone, while its room
            is still there.

    Returns:
        The agent's exit status, or 128 and the signal that ended it.

    Raises:
        EndedBySignalError: A signal came before the agent had started.
        SandboxError: The isolation could not be proven; the agent never started.
        HomeroomError: Another step failed. Everything before it has been undone.
    """
    # A core would hold the credential, and lie in the workspace when all else is wiped.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    decided, run_lock = _allocate(request, environ, paths, config)
    run = _Run(decided, run_lock, paths, config, signals, tell)
    with Unwind(lambda error: tell(f"while cleaning up: {error}")) as unwind:
        unwind.add(run.unlock)
        notice.announce(decided, tell)
        try:
            run.allocate(unwind)
            run.add_worktree(unwind, environ)
            run.materialize(unwind)
            run.furnish()
            outcome = run.hold(unwind, before_wipe)
        except BaseException as error:
            run.failure = error
            raise
    # One that came while the room was wiped hindered nothing, and is answered all the same.
    signals.check()
    if outcome.ended_by is None:
        run.part(outcome)
    return outcome.status


def _allocate(
    request: Request, environ: Mapping[str, str], paths: Paths, config: Config
) -> tuple[Plan, RunLock]:
    """Decide the run, and take its lock before anything else of it exists."""
    for _ in range(_LOCK_TRIES):
        run_id = request.run_id or home.new_run_id()
        known = existing(memory.known(paths))
        decided = plan.make(request, environ, paths, config, run_id)
        readiness.require(decided, environ, paths)
        ensure_private_dir(paths.state)
        ensure_private_dir(paths.runs)
        # A sweep may be looking at the new file at this very moment: then another id.
        taken = lock.try_acquire(paths.runs / f"{decided.instance.run_id}.lock")
        if taken is None:
            continue
        # What is denied was decided before the lock: others may have begun a place since.
        if existing(memory.known(paths)) == known:
            return decided, taken
        taken.release()
    raise StateError(f"cannot lock a new run in {paths.runs}")


class _Run:
    """One run's steps, each with what undoes it."""

    def __init__(
        self,
        decided: Plan,
        run_lock: RunLock,
        paths: Paths,
        config: Config,
        signals: Signals,
        tell: Tell,
    ) -> None:
        self._plan = decided
        self._instance = decided.instance
        self._lock = run_lock
        self._paths = paths
        self._config = config
        self._signals = signals
        self._tell = tell
        self._record = Record(
            run_id=decided.instance.run_id,
            provider=decided.provider.name,
            workspace=str(decided.room.workspace.directory),
            state="allocated",
            created=time.time(),
            supervisor=os.getpid(),
            supervisor_identity=identity(os.getpid()),
            name=decided.wish.request.name,
            session=decided.wish.request.session,
            container=decided.housing is not None,
            trial=decided.wish.request.trial,
        )
        self._record = adoption.marked(self._record, decided)
        self._injected: str | None = None
        self._saved = False
        self._status: int | None = None
        self.failure: BaseException | None = None

    def allocate(self, unwind: Unwind) -> None:
        """Write the record."""
        self._signals.check()
        unwind.add(self._close_record)
        self._save(self._record)
        if self._instance.place is not None:
            place.begin(self._paths, self._instance.place, self._record.run_id)
        # After that, so that of two runs that start at once one sees the other.
        find.refuse_taken(self._paths, self._record.name, self._record.run_id)
        self._warn_of_twins()

    def add_worktree(self, unwind: Unwind, environ: Mapping[str, str]) -> None:
        """Give the run a worktree of its own, if it was asked for, and decide anew for it."""
        request = self._plan.wish.request
        if request.worktree is None:
            return
        self._signals.check()
        tree = worktree.add(
            self._plan.room.workspace.directory,
            request.worktree or None,
            self._record.run_id,
            environ,
        )
        unwind.add(lambda: self._finish_worktree(tree, environ, discard=request.discard))
        where = {"worktree": str(tree.path), "workspace": str(tree.directory)}
        self._save(msgspec.structs.replace(self._record, **where))
        moved = msgspec.structs.replace(request, directory=tree.directory)
        self._plan = plan.make(moved, environ, self._paths, self._config, self._record.run_id)

    def _finish_worktree(
        self, tree: worktree.Worktree, environ: Mapping[str, str], *, discard: bool
    ) -> None:
        try:
            kept = worktree.finish(tree, environ, discard=discard)
        except HomeroomError as error:
            kept = f"{tree.path} was kept: {error}"
        if kept is not None:
            self._tell(kept)

    def materialize(self, unwind: Unwind) -> None:
        """Make the room."""
        self._signals.check()
        unwind.add(lambda: home.wipe(self._instance, self._instance.trash))
        home.materialize(self._instance)

    def furnish(self) -> None:
        """Seed, inject, and write the settings: all that the agent finds in its room."""
        decided, instance = self._plan, self._instance
        self._signals.check()
        for seed in decided.seeds:
            apply(instance.home, seed)
        self._signals.check()
        credential = decided.credential
        carried = decided.provider.inject(decided.room, credential) if credential else {}
        if self._record.grant is not None:
            self._injected = decided.provider.signature(instance.home)
        self._signals.check()
        home.note_secrets(instance, decided.secrets())
        inside = decided.inside.carrying(carried)
        Srt(decided.host).prepare(instance, decided.policy, inside)
        self._save(self._record.moved("prepared"))
        self._signals.check()

    def hold(self, unwind: Unwind, before_wipe: BeforeWipe | None) -> Outcome:
        """Start the agent, wait until it is over, and say what it left in the workspace."""
        tree = self._plan.room.workspace
        before, repositories = tree.open_to_change(), tree.repositories()
        if before_wipe is not None:
            unwind.add(lambda: self._status is None or before_wipe(self._plan))
        if self._record.grant_from is not None:
            unwind.add(self._adopt)
        asked = self._plan.wish.request
        if self._config.run.archive != "never" and not asked.trial:
            unwind.add(self._archive)
        limits = Limits(asked.limit, asked.max_idle, self._last_activity)
        grace = self._config.run.stop_grace
        held = self._spawner(unwind)
        session = Foreground(self._instance, self._signals, self._plan.mode, grace, limits, held)
        outcome = session.run(self._plan.command, self._on_start)
        if not outcome.started:
            raise _not_started(outcome)
        self._status = outcome.status
        self._save(self._record.moved("ending"))
        made = dict.fromkeys(tree.repositories() - repositories)
        for path, how in {**before, **made}.items():
            if condition(path) != how:
                done = "made" if how is None else "changed"
                self._tell(f"the run {done} {path}, which other tools of yours obey: look at it")
        return outcome

    def _spawner(self, unwind: Unwind) -> Callable[[Command], Child]:
        """Choose where the processes live; a container is gone before anything is kept."""
        if self._plan.housing is None:
            return spawn
        from homeroom.session.container import Container

        room = Container(self._plan.housing, self._instance, self._paths, self._signals, self._tell)
        unwind.add(room.remove)
        return room.spawn

    def _last_activity(self) -> float:
        files = self._plan.provider.transcripts(self._instance.home)
        # The agent may remove one at this moment, or shut its directory.
        times = [changed(path) for path in files]
        return max([self._record.created, *times])

    def unlock(self) -> None:
        """Let the lock go; its file stays while something of the run is left."""
        try:
            left = is_there(self._instance.root) or is_there(self._instance.temp)
        except BaseException:
            self._lock.abandon()
            raise
        if left:
            self._lock.abandon()
        else:
            self._lock.release()

    def _on_start(self, pid: int) -> None:
        self._save(self._record.moved("running", sandbox=pid))
        # What is in them is in memory now: the files would be one more copy of a secret each.
        secret = [self._instance.runtime / "environment"]
        secret += [self._instance.settings] if self._plan.host.upstream is not None else []
        for path in secret:
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise explain(error, path, "remove") from error

    def _warn_of_twins(self) -> None:
        """Say when another living run could renew the same grant: the first one to do so wins."""
        if self._record.grant is None:
            return
        for other in adoption.holders(self._paths, self._record.grant, self._record.run_id):
            self._tell(
                f"{other} holds the same login in full: when one of the two renews it, the "
                'other may be logged out; run.credentials = "access" avoids that'
            )

    def _adopt(self) -> None:
        decided, origin = self._plan, self._record.grant_from
        if origin is None or decided.provider.signature(self._instance.home) == self._injected:
            return
        wish = decided.wish
        places = adoption.Places(wish.paths, wish.config, wish.environ, wish.user_home)
        run_id = self._instance.run_id
        adoption.take_back(
            decided.provider, self._instance.home, origin, run_id, places, self._tell
        )

    def _archive(self) -> None:
        archive.keep(
            self._plan.provider.transcripts(self._instance.home),
            self._instance.home,
            self._paths.transcripts / self._instance.run_id,
            self._plan.secrets(),
        )

    def part(self, outcome: Outcome) -> None:
        """Say the last words, when nothing of the run is left but its transcript."""
        is_killed = outcome.status > _SIGNALLED
        words = (self._plan, self._paths, self._config, self._signals, self._tell)
        farewell.part(*words, is_killed=is_killed)

    def _save(self, new: Record) -> None:
        record.save(self._paths.runs / f"{new.run_id}.json", new)
        self._record, self._saved = new, True

    def _close_record(self) -> None:
        if not self._saved:
            return
        state: record.RunState = "ended" if self._record.state == "ending" else "failed"
        note = str(self.failure) if self.failure else None
        status = self._status
        if status is None and isinstance(self.failure, HomeroomError):
            status = self.failure.exit_code
        changes = {"ended": time.time(), "exit_status": status, "note": note}
        self._save(self._record.moved(state, **changes))


def _not_started(outcome: Outcome) -> HomeroomError:
    if outcome.ended_by is not None:
        return EndedBySignalError(outcome.ended_by)
    return SandboxError(
        f"the agent was not started, because its sandbox could not be proven: {outcome.refusal}",
        "see docs/how-to/sandbox-refused.md",
    )
