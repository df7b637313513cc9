import os
from pathlib import Path

import pytest

from scoring import devices

CPUS = sorted(os.sched_getaffinity(0))


def test_a_lease_is_exclusive_until_it_is_given_back(tmp_path: Path) -> None:
    with devices.acquire(len(CPUS), tmp_path) as lease:
        assert lease.cpus == tuple(CPUS)
        with pytest.raises(devices.NoDevice, match="no 1 free"):
            devices.acquire(1, tmp_path)
    devices.acquire(1, tmp_path).release()


def test_a_failed_wish_holds_nothing(tmp_path: Path) -> None:
    with devices.acquire(1, tmp_path):
        with pytest.raises(devices.NoDevice):
            devices.acquire(len(CPUS), tmp_path)
        rest = [devices.acquire(1, tmp_path) for _ in CPUS[1:]]
    for lease in rest:
        lease.release()


def test_a_host_cannot_lend_more_than_it_has(tmp_path: Path) -> None:
    for count in (0, len(CPUS) + 1):
        with pytest.raises(devices.NoDevice, match="lends"):
            devices.acquire(count, tmp_path, wait_seconds=60)


def test_the_kernel_gives_a_dead_holders_cpus_back(tmp_path: Path) -> None:
    pid = os.fork()
    if pid == 0:
        devices.acquire(len(CPUS), tmp_path)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0, "it held them when it died"
    devices.acquire(len(CPUS), tmp_path).release()
