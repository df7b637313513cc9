"""Carries out a train job: inputs, sandbox, supervision, seal, receipt."""

import contextlib
import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from scoring import facts, inputs
from scoring.job import Host, Job
from scoring.sandbox import box, interpreter, runfolder, seal
from scoring.sandbox.bwrap import HARNESS_INSIDE
from scoring.sandbox.clock import RunClock
from scoring.sandbox.logfile import LogFile
from scoring.sandbox.meter import Meter, file_count, used_bytes
from scoring.sandbox.spec import Caps, Spec
from scoring.sandbox.supervisor import Emit, Supervisor

_LAUNCH = f"{HARNESS_INSIDE}/launch.py"
# Ends that more CPU could have changed. A crash or a limit is the script's on any host.
_COULD_BE_CONTENTION = frozenset(("ok", "over_budget", "no_checkpoint"))


def caps(job: Job, *, output: bool) -> Caps:
    """Return a sandbox's ceilings from the job's limits."""
    limits = job.limits
    return Caps(
        memory_bytes=limits.memory_bytes,
        processes=limits.processes,
        open_files=limits.open_files,
        file_bytes=limits.file_bytes,
        tmp_bytes=limits.tmp_bytes,
        output_bytes=limits.output_bytes if output else None,
    )


def _argv(job: Job) -> tuple[str, ...]:
    launch = job.launch
    if launch.launcher == "torchrun":
        rendezvous = ("--standalone", f"--nproc_per_node={launch.processes}")
        return (interpreter.PYTHON, "-m", "torch.distributed.run", *rendezvous, _LAUNCH, *launch.args)
    return (interpreter.PYTHON, _LAUNCH, *launch.args)


def _spec(job: Job, copies: inputs.Inputs, cpus: tuple[int, ...]) -> Spec:
    return Spec(
        name=runfolder.sandbox_name(copies.folder.parent, "train"),
        slot="trainer",
        argv=_argv(job),
        mounts=(*interpreter.mounts(), *copies.mounts),
        env={**interpreter.environment(len(cpus)), **job.launch.env},
        caps=caps(job, output=True),
        cpus=cpus,
    )


def run(job: Job, host: Host, folder: Path, cpus: tuple[int, ...], cancel: int, emit: Emit) -> dict[str, Any]:
    """Train in a fresh sandbox below `folder` and return the receipt's fields.

    Raises InputRefused before anything has started, SandboxError when the host fails.
    """
    receipt = facts.Receipt(job)
    receipt.device(cpus)
    copies = inputs.for_training(job, host, folder / "inputs")
    spec = _spec(job, copies, cpus)
    with contextlib.ExitStack() as stack:
        log = stack.enter_context(LogFile(host.log_path, job.limits.log_bytes))
        boundaries = os.open(copies.folder / "steps", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        stack.callback(os.close, boundaries)
        sandbox = box.start(spec)
        stack.callback(sandbox.close)
        os.chown(copies.folder / "steps", sandbox.user.uid, -1)
        receipt.fields.update(isolation=facts.isolation(sandbox, spec), environment=dict(spec.env))
        supervisor = _supervise(job, sandbox, spec, log, boundaries, copies, cancel, emit)
        code, detail = supervisor.run()
        contention = supervisor.meter.contention()
        if code in _COULD_BE_CONTENTION and contention["lost_share"] > 1 - job.clock.minimum_lease_share:
            code, detail = "contention", facts.lease_share(contention["lost_share"], job.clock.minimum_lease_share)
        if code == "ok":
            code, detail = _seal(job, host, sandbox, receipt, emit)
        _note(receipt, job, supervisor, log, contention)
    return receipt.finish(code, detail)


def _supervise(
    job: Job,
    sandbox: box.Box,
    spec: Spec,
    log: LogFile,
    boundaries: int,
    copies: inputs.Inputs,
    cancel: int,
    emit: Emit,
) -> Supervisor:
    """Start the program and its clock in one breath."""
    now = time.monotonic()
    clock = RunClock(
        budget=job.clock.budget_seconds,
        cap=job.clock.startup_cap_seconds,
        excluded_steps=job.clock.excluded_steps,
        term=job.clock.term_seconds,
        t0=now,
    )
    meter = Meter(sandbox, spec.cpus, now)
    emit({"event": "started"})
    sandbox.go()
    return Supervisor(
        box=sandbox,
        clock=clock,
        meter=meter,
        log=log,
        caps=spec.caps,
        output_files=job.limits.output_files,
        checkpoint=job.checkpoint.removeprefix("out/"),
        boundaries=boundaries,
        cancel=cancel,
        open_gate=copies.open_gate,
        emit=emit,
    )


def _seal(job: Job, host: Host, sandbox: box.Box, receipt: facts.Receipt, emit: Emit) -> tuple[str, str]:
    try:
        digest = seal.seal(
            sandbox.folders["out"],
            host.checkpoints_dir,
            job.attempt_id,
            max_bytes=job.limits.output_bytes,
            max_files=job.limits.output_files,
        )
    except seal.UnsafeCheckpoint as error:
        return "unsafe_checkpoint", str(error)
    receipt.fields["checkpoint_sha256"] = digest
    emit({"event": "sealed", "checkpoint_sha256": digest})
    return "ok", ""


def _note(receipt: facts.Receipt, job: Job, supervisor: Supervisor, log: LogFile, contention: dict[str, float]) -> None:
    clock, end = supervisor.clock, supervisor.end
    started = datetime.fromtimestamp(time.time() - (time.monotonic() - clock.t0), UTC)
    median = clock.median_step()
    out = supervisor.box.folders["out"]
    receipt.fields.update(
        clock=facts.clock(job, clock, end, started),
        steps={"count": clock.steps, "median_seconds": None if median is None else round(median, 5)},
        resources=facts.resources(supervisor.meter),
        output={"bytes": used_bytes(out), "files": file_count(out)},
        contention={**contention, "minimum_lease_share": job.clock.minimum_lease_share},
        log={"sha256": log.sha256, "bytes": log.size, "truncated": log.full},
    )
