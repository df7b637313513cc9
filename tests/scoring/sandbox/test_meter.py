"""Whose CPU time is foreign."""

import os
import time

import pytest

from scoring.sandbox import box, meter
from tests.scoring.sandbox import inside

pytestmark = pytest.mark.sandbox


def test_what_the_runner_itself_spends_is_not_foreign() -> None:
    before = os.sched_getaffinity(0)
    spec = inside.spec("import signal; signal.pause()")
    sandbox = box.start(spec)
    try:
        os.sched_setaffinity(0, spec.cpus)  # as it may happen: on the CPUs that are leased
        metered = meter.Meter(sandbox, spec.cpus, time.monotonic())
        own = time.process_time()
        while time.process_time() < own + 0.5:
            pass
        metered.look(time.monotonic())
    finally:
        os.sched_setaffinity(0, before)
        sandbox.close()
    busy = metered._busy_seconds
    foreign = metered.contention()["foreign_share"] * (metered.ended - metered.started)
    assert busy > 0.4
    assert foreign <= busy - 0.4  # other work on the machine may be in both
