"""What is wrong with credentials, with what homeroom keeps, or with what reaches into rooms."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from homeroom import home, provider
from homeroom.process import RUN_VARIABLE
from tests.check.machine import (
    AGENT,
    TRIALS,
    Machine,
    assert_only,
    found,
    orphan,
    own_file,
    patched,
    verdicts,
    write_state,
)

# --- credentials --------------------------------------------------------------------------


def test_a_login_is_well(logged_in: Machine) -> None:
    document = logged_in.check("--only", "credentials", status=0)
    assert found(document) == {}
    assert verdicts(document)[f"credentials.{AGENT}"] == "ok"


def test_a_credential_can_be_read_by_others(logged_in: Machine) -> None:
    own_file(logged_in).chmod(0o644)
    assert_only(logged_in, f"credentials.{AGENT}-modes", says="mode 0644")


def test_a_credential_has_expired(logged_in: Machine) -> None:
    patched(own_file(logged_in), ("4000000000000", "1700000000000"))
    assert_only(
        logged_in, f"credentials.{AGENT}", verdict="warn", says="has expired", without=TRIALS
    )


def test_a_credential_cannot_be_understood(logged_in: Machine) -> None:
    own_file(logged_in).write_text("{ not json")
    assert_only(logged_in, f"credentials.{AGENT}", without=TRIALS)


def test_there_is_no_credential(machine: Machine) -> None:
    keys = [name for name in machine.env if name.startswith(f"HOMEROOM_{AGENT.upper()}")]
    assert_only(machine.without_env(*keys), f"credentials.{AGENT}", verdict="warn", without=TRIALS)


def test_the_index_of_the_vault_is_damaged(machine: Machine) -> None:
    write_state(machine, "vault/index.json", "{ not json")
    assert_only(machine, "credentials.index", says="damaged", without=TRIALS)


def test_a_login_of_the_vault_is_gone(machine: Machine) -> None:
    entry = {
        "provider": AGENT,
        "profile": "default",
        "kind": "api-key",
        "digest": "01234567",
        "saved_at": 1.0,
        "store": "file",
    }
    write_state(machine, "vault/index.json", json.dumps({"schema": 1, "entries": [entry]}))
    assert_only(machine, "credentials.vault", says="is gone", without=TRIALS)


KEYRINGS = {
    "hangs": ("time.sleep(3600)", "did not answer within"),
    "is locked": ("raise keyring.errors.KeyringLocked", "is locked"),
    "fails": ("raise OSError('secret-in-the-message')", "failed (OSError)"),
}


@pytest.mark.parametrize("how", KEYRINGS)
def test_the_keyring_does_not_answer(machine: Machine, tmp_path: Path, how: str) -> None:
    action, says = KEYRINGS[how]
    (tmp_path / "bad_keyring.py").write_text(
        "import time, keyring.backend, keyring.errors\n"
        "class Keyring(keyring.backend.KeyringBackend):\n"
        "    priority = 5\n"
        f"    def get_password(self, service, name): {action}\n"
        "    set_password = delete_password = get_password\n"
    )
    broken = machine.with_env(PYTHON_KEYRING_BACKEND="bad_keyring.Keyring", PYTHONPATH=tmp_path)
    assert_only(broken, "credentials.keyring", says=says, without=TRIALS)


@contextmanager
def living_room(machine: Machine, grant: str) -> Iterator[home.Instance]:
    """Pretend that a run is alive, whose room holds what renews a grant."""
    instance = home.instance_of(machine.paths, home.new_run_id())
    home.materialize(instance)
    own = instance.home / ".claude/.credentials.json"
    own.parent.mkdir(mode=0o700)
    own.write_text(own_file(machine).read_text().replace("ort01-x", grant))
    record = {
        "run_id": instance.run_id,
        "provider": AGENT,
        "workspace": "/",
        "state": "running",
        "created": 1.0,
        "supervisor": os.getpid(),
        "schema": 1,
    }
    write_state(machine, f"runs/{instance.run_id}.json", json.dumps(record))
    lock = write_state(machine, f"runs/{instance.run_id}.lock", "")
    with lock.open("r+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield instance


def test_two_living_rooms_can_renew_one_grant(logged_in: Machine) -> None:
    with living_room(logged_in, "one") as first, living_room(logged_in, "two"):
        assert found(logged_in.check("--only", "credentials", status=0)) == {}
        with living_room(logged_in, "one"):
            assert_only(logged_in, "credentials.refresher", says=first.run_id, without=TRIALS)


# --- state --------------------------------------------------------------------------------


def test_the_configuration_is_not_understood(machine: Machine) -> None:
    machine.paths.config.mkdir(mode=0o700, parents=True)
    machine.paths.config_file.write_text("[network]\nallow = 'everything'\n")
    assert_only(machine, "state.configuration", says="config.toml")


def test_a_directory_is_open_to_others(machine: Machine) -> None:
    write_state(machine, "runs/x", "")
    machine.paths.runs.chmod(0o755)
    assert_only(machine, "state.permissions", says=str(machine.paths.runs))


def test_a_lock_is_stale(machine: Machine) -> None:
    write_state(machine, f"runs/{home.new_run_id()}.lock", "", age=3600)
    assert_only(machine, "state.locks", verdict="warn", without=TRIALS)


def test_a_room_is_orphaned(machine: Machine) -> None:
    orphan(machine)
    assert_only(machine, "state.orphans", verdict="warn", says="1 rooms of dead runs")


def test_a_record_is_damaged(machine: Machine) -> None:
    write_state(machine, f"runs/{home.new_run_id()}.json", "{")
    assert_only(machine, "state.records", verdict="warn", without=TRIALS)


def test_the_trash_is_not_empty(machine: Machine) -> None:
    write_state(machine, "trash/left-over/file", "")
    assert_only(machine, "state.trash", verdict="warn", without=TRIALS)


def test_something_foreign_is_among_the_rooms(machine: Machine) -> None:
    write_state(machine, "instances/notes.txt", "")
    assert_only(machine, "state.foreign", verdict="warn", says="notes.txt", without=TRIALS)


# --- what reaches into every room -----------------------------------------------------------

# A directory /etc of this process's own, with everything that is in the real one.
OWN_ETC = (
    'mkdir "$1"; mount --rbind /etc "$1"; mount -t tmpfs tmpfs /etc; '
    'for each in "$1"/*; do ln -s "$each" /etc/; done; '
    'mkdir -p "$(dirname "$2")"; echo "{}" >"$2"; shift 2; exec "$@"'
)


def test_a_managed_setting_is_under_etc(machine: Machine, tmp_path: Path) -> None:
    managed = provider.get(AGENT).surfaces().machine[0]
    before = os.listdir("/etc")
    assert_only(
        machine.inside(OWN_ETC, tmp_path / "etc", managed),
        "leaks.managed",
        verdict="warn",
        says=managed,
    )
    assert os.listdir("/etc") == before


def test_instructions_lie_above_the_workspace(machine: Machine, tmp_path: Path) -> None:
    work = tmp_path / "other" / "project"
    work.mkdir(parents=True)
    above = tmp_path / "other" / provider.get(AGENT).surfaces().inherited[0]
    above.write_text("Obey.")
    assert_only(
        replace(machine, cwd=work),
        "leaks.ancestors",
        verdict="warn",
        says=str(above),
        without=TRIALS,
    )


def test_the_configuration_opens_the_home(machine: Machine) -> None:
    (machine.home / ".agents").mkdir()
    machine.paths.config.mkdir(mode=0o700, parents=True)
    machine.paths.config_file.write_text('[files]\nread = ["~/.agents"]\n')
    assert_only(
        machine, "leaks.config", "leaks.home", verdict="warn", says=".agents", without=TRIALS
    )


def test_the_marker_of_a_run_is_no_news(machine: Machine) -> None:
    document = machine.with_env(**{RUN_VARIABLE: "run_x"}).check("--quick")
    assert found(document) == {}
