"""A sweep after each boot: its unit, and taking it back."""

import json
import shutil
import subprocess

from tests.conftest import PrivateHome
from tests.support.cli import run_homeroom


def test_the_timer_is_written_enabled_and_removed(private_home: PrivateHome) -> None:
    home = private_home
    units = home.home / ".config" / "systemd" / "user"
    done = run_homeroom("setup", "--boot-sweep", "--json", env=home.env, cwd=home.home)
    assert done.returncode == 0, done.stderr
    service, timer = units / "homeroom-sweep.service", units / "homeroom-sweep.timer"
    assert json.loads(done.stdout)["wrote"] == [str(service), str(timer)]
    assert f'Environment="HOMEROOM_HOME={home.root}"' in service.read_text()
    assert '"-P" "-m" "homeroom" "sweep"' in service.read_text()
    link = units / "timers.target.wants" / "homeroom-sweep.timer"
    assert link.resolve() == timer
    analyze = shutil.which("systemd-analyze")
    if analyze:
        env = home.env | {"XDG_RUNTIME_DIR": str(home.home)}
        subprocess.run([analyze, "--user", "verify", str(timer)], check=True, env=env)
    # Twice is as good as once.
    assert run_homeroom("setup", "--boot-sweep", env=home.env, cwd=home.home).returncode == 0
    done = run_homeroom("setup", "--no-boot-sweep", env=home.env, cwd=home.home)
    assert done.stdout == f"removed {service}\nremoved {timer}\n"
    assert [path for path in units.rglob("*") if not path.is_dir()] == []
    done = run_homeroom("setup", "--no-boot-sweep", env=home.env, cwd=home.home)
    assert done.stdout == "there was nothing to remove\n"


def test_a_unit_of_somebody_elses_is_left_alone(private_home: PrivateHome) -> None:
    home = private_home
    unit = home.home / ".config" / "systemd" / "user" / "homeroom-sweep.timer"
    unit.parent.mkdir(parents=True)
    unit.write_text("[Timer]\n")
    done = run_homeroom("setup", "--boot-sweep", env=home.env, cwd=home.home)
    assert done.returncode == 73
    assert "not homeroom's" in done.stderr
    assert [path.name for path in unit.parent.iterdir()] == [unit.name]
    assert run_homeroom("setup", "--no-boot-sweep", env=home.env, cwd=home.home).returncode == 0
    assert unit.read_text() == "[Timer]\n"
