"""Several homeroom processes at once, in whatever order: what stays true does."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from homeroom.toolchain.store import Toolchain
from tests.life.machine import Homerooms, link_toolchain

EXAMPLES = int(os.environ.get("HOMEROOM_SOAK", "2"))


@pytest.mark.timeout(0 if "HOMEROOM_SOAK" in os.environ else 300)
def test_processes_at_once_keep_every_promise(tmp_path: Path, toolchain: Toolchain) -> None:
    class Here(Homerooms):
        pass

    Here.toolchain = link_toolchain(toolchain.root, tmp_path / "toolchain")
    run_state_machine_as_test(
        Here,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=12,
            deadline=None,
            # An example takes seconds: what failed is shown as it was.
            phases=(Phase.explicit, Phase.reuse, Phase.generate),
            suppress_health_check=list(HealthCheck),
        ),
    )
