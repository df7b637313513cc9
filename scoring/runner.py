"""`python -m scoring.runner JOB.json`: one attempt from job file to signed receipt.

    stdin    first line: 32-byte ed25519 seed in hex, or empty for a key of its own
    stdout   one JSON event per line, the receipt always last
    exit     0 a receipt was written, whatever it says; with a sentence on stderr: 2 job refused, 3 host failed,
             4 the host's disk is full

SIGTERM cancels the run. The runner dies with its parent, and its sandboxes die with it. `--parent` names the process
that this is to be: a starter that is killed while the runner still imports is no longer its parent when it looks.
"""

import argparse
import json
import os
import signal
import sys
import traceback
from pathlib import Path
from types import FrameType
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from pydantic import ValidationError

from scoring import devices, facts, receipt
from scoring.inputs import InputRefused
from scoring.job import LEVELS, Job
from scoring.room import is_full
from scoring.sandbox import prelude, runfolder
from scoring.sandbox.spec import SandboxError

RECEIPT, REFUSED, HOST_FAULT, HOST_FULL = 0, 2, 3, 4
LEASE_SECONDS = 60.0
_MAX_JOB_BYTES = 1 << 20


class JobRefused(Exception):
    """The job cannot be carried out as it stands; the sentence says why."""


def say(event: dict[str, Any]) -> None:
    """Print one event."""
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


def read_key(seed: str) -> Ed25519PrivateKey:
    """Return the signing key of a hex seed, a new one for an empty line. Raises JobRefused."""
    try:
        return receipt.key_from_seed(seed) if seed else receipt.new_key()
    except ValueError:
        raise JobRefused("the signing key is not 32 bytes in hex") from None


def read_job(path: Path) -> Job:
    """Read and check a job file. Raises JobRefused."""
    try:
        with open(path, "rb") as file:
            text = file.read(_MAX_JOB_BYTES + 1)
        if len(text) > _MAX_JOB_BYTES:
            raise JobRefused("the job file is larger than 1 MiB")
        job = Job.model_validate_json(text)
    except OSError as error:
        raise JobRefused(f"the job file cannot be read ({error.strerror})") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "job"
        raise JobRefused(f"{place}: {first['msg']}") from None
    if job.host is None:
        raise JobRefused("host: the agent has not filled in its paths")
    if LEVELS.index(facts.level()) < LEVELS.index(job.isolation):
        raise JobRefused(f"the phase asks for isolation {job.isolation!r}; this host gives {facts.level()!r}")
    return job


def cancel_pipe() -> int:
    """Return a descriptor that becomes readable on SIGTERM."""
    read, write = os.pipe()
    os.set_blocking(write, False)

    def heard(signum: int, frame: FrameType | None) -> None:
        return None

    signal.signal(signal.SIGTERM, heard)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    return read


def carry_out(job: Job, cancel: int) -> dict[str, Any]:
    """Run the job in a fresh folder under a CPU lease and return the receipt's fields."""
    host = job.host
    assert host is not None  # read_job refuses it
    runfolder.sweep(host.runs_dir)
    leases = host.runs_dir.parent / "leases"
    with (
        devices.acquire(job.limits.threads, leases, LEASE_SECONDS) as lease,
        runfolder.fresh(host.runs_dir, job.run_id, job.attempt_id) as folder,
    ):
        if job.kind == "train":
            from scoring import training

            return training.run(job, host, folder, lease.cpus, cancel, say)
        from scoring import evaluating

        return evaluating.run(job, host, folder, lease.cpus, cancel, say)


def main(arguments: list[str] | None = None) -> int:
    """Carry out the job named on the command line; see the module's text for exit codes."""
    parser = argparse.ArgumentParser(prog="python -m scoring.runner", description="Carry out one job.")
    parser.add_argument("job", type=Path)
    parser.add_argument("--parent", type=int, metavar="PID", help="end with this process; by hand: the shell it is")
    options = parser.parse_args(arguments)
    prelude.die_with_parent(options.parent or os.getppid())
    cancel = cancel_pipe()
    try:
        key = read_key(sys.stdin.readline().strip())
        fields = carry_out(read_job(options.job), cancel)
    except (JobRefused, InputRefused) as error:
        print(error, file=sys.stderr)  # noqa: T201 this is a command
        return REFUSED
    except (SandboxError, devices.NoDevice, OSError) as error:
        print(error, file=sys.stderr)  # noqa: T201
        return HOST_FULL if isinstance(error, OSError) and is_full(error) else HOST_FAULT
    except Exception as error:  # ours, whatever it is; the agent reads the last line
        traceback.print_exc()
        print(f"the runner failed: {error!r}", file=sys.stderr)  # noqa: T201
        return HOST_FAULT
    signature = receipt.sign(fields, key)
    say({"event": "receipt", "receipt": fields, "signature": signature, "public_key": receipt.public_key(key)})
    return RECEIPT


if __name__ == "__main__":
    sys.exit(main())
