"""Carries out a score job: a model server and a scorer, each in a sandbox, a socket between them.

The runner makes the socket, gives each side one end, and then only listens (session.py).
"""

import contextlib
import json
import os
import socket
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from scoring import facts, inputs, training
from scoring.job import Host, Job
from scoring.sandbox import box, interpreter, runfolder
from scoring.sandbox.bwrap import HARNESS_INSIDE
from scoring.sandbox.logfile import LogFile
from scoring.sandbox.meter import Meter
from scoring.sandbox.spec import SLOTS, Bind, Caps, Data, Spec
from scoring.sandbox.supervisor import Emit
from scoring.sandbox.syscalls import memory_file
from scoring.session import Session

_PACKAGE = Path(__file__).resolve().parent
_ROOM = "/opt/holdout"  # where the scorer finds our own code
_SEALED = "/holdout/sealed"
_SCORER_CAPS = Caps(memory_bytes=1 << 33, processes=256, open_files=1024, file_bytes=1 << 40, tmp_bytes=1 << 26)
_SLACK_SECONDS = 120.0  # on top of the scorer's own two timeouts; beyond it the scorer itself hangs


def _server_spec(job: Job, copies: inputs.Inputs, cpus: tuple[int, ...], channel: int) -> Spec:
    server = f"{HARNESS_INSIDE}/model_server.py"
    return Spec(
        name=runfolder.sandbox_name(copies.folder.parent, "server"),
        slot="server",
        argv=(interpreter.PYTHON, server, str(channel), f"/work/{job.checkpoint}"),
        mounts=(*interpreter.mounts(), *copies.mounts),
        env={**interpreter.environment(len(cpus)), **job.launch.env},
        caps=training.caps(job, output=False),
        cpus=cpus,
        keep_fds=(channel,),
    )


def _order(job: Job, copies: inputs.Inputs, cpus: tuple[int, ...], channel: int) -> bytes:
    order = {
        "shard": f"{_SEALED}/target.shard",
        "key": f"{_SEALED}/key",
        "commitment": job.shards.commitment,
        "seq_len": job.evaluation.seq_len,
        "batch_size": job.evaluation.batch_size,
        "vocab_size": job.evaluation.vocab_size,
        "token_bytes": "/holdout/token_bytes.bin",
        "bos": copies.manifest.bos,
        "timeout_seconds": job.evaluation.timeout_seconds,
        "channel_fd": channel,
        "threads": len(cpus),
    }
    return json.dumps(order).encode() + b"\n"


def _scorer_spec(
    job: Job, host: Host, copies: inputs.Inputs, cpus: tuple[int, ...], channel: int, stdin: int, stderr: int
) -> Spec:
    """Bind the one sealed shard and its key, nothing of the submission; the key goes by memory, not by disk."""
    assert host.sealed_dir is not None  # the job's validator
    assert host.key_path is not None
    target = copies.folder / "target.shard"
    inputs.copy(host.sealed_dir / f"{job.shards.target}.shard", target)
    if os.geteuid() == 0:
        os.chown(target, SLOTS["scorer"], SLOTS["scorer"])
    target.chmod(0o400)
    return Spec(
        name=runfolder.sandbox_name(copies.folder.parent, "scorer"),
        slot="scorer",
        argv=(interpreter.PYTHON, "-m", "scoring.scorer", "score"),
        mounts=(
            *interpreter.mounts(),
            Bind(_PACKAGE, f"{_ROOM}/scoring"),
            Bind(target, f"{_SEALED}/target.shard"),
            Data(host.key_path.read_bytes(), f"{_SEALED}/key", 0o400),
            Bind(copies.folder / "token_bytes.bin", "/holdout/token_bytes.bin"),
        ),
        env=interpreter.environment(len(cpus)),
        caps=_SCORER_CAPS,
        cpus=cpus,
        cwd=_ROOM,
        stdin=stdin,
        stderr=stderr,
        keep_fds=(channel,),
    )


def run(job: Job, host: Host, folder: Path, cpus: tuple[int, ...], cancel: int, emit: Emit) -> dict[str, Any]:
    """Score in fresh sandboxes below `folder` and return the receipt's fields.

    Raises InputRefused before anything has started, SandboxError when the host or the scorer fails.
    """
    receipt = facts.Receipt(job)
    receipt.device(cpus)
    copies = inputs.for_serving(job, host, folder / "inputs")
    if copies.manifest.commitments.get(job.shards.target or "") != job.shards.commitment:
        raise inputs.InputRefused("the sealed shard's commitment is not the one that the job pins")
    with contextlib.ExitStack() as stack:
        log = stack.enter_context(LogFile(host.log_path, job.limits.log_bytes))
        stderr = memory_file(b"")
        stack.callback(os.close, stderr)
        server, spec, scorer = _start(stack, job, host, copies, cpus, stderr)
        receipt.fields.update(isolation=facts.isolation(server, spec), environment=dict(spec.env))
        started, meter = datetime.now(UTC), Meter(server, cpus, time.monotonic(), scorer)
        session = Session(
            server=server,
            scorer=scorer,
            cancel=cancel,
            deadline=time.monotonic() + 2 * job.evaluation.timeout_seconds + _SLACK_SECONDS,
            log_bytes=job.limits.log_bytes,
            tick=_sampler(meter, emit),
        )
        emit({"event": "started"})
        scorer.go()
        server.go()
        session.listen()
        meter.look(time.monotonic())
        session.end()
        log.write(session.reason())
        complaint = os.pread(stderr, 65536, 0).decode(errors="replace")
        code, detail = session.verdict(log.last_words(), complaint)
        if code == "ok" and session.result is not None:
            receipt.fields["score"] = session.result["score"]
        if code == "eval_timeout" and _lost_its_lease(job, meter):
            # More CPU could have changed this end, and only this one.
            code = "contention"
            detail = facts.lease_share(meter.contention()["lost_share"], job.clock.minimum_lease_share)
        _note(receipt, job, meter, log, started)
    return receipt.finish(code, detail)


def _start(
    stack: contextlib.ExitStack, job: Job, host: Host, copies: inputs.Inputs, cpus: tuple[int, ...], stderr: int
) -> tuple[box.Box, Spec, box.Box]:
    """Start both sandboxes, their programs waiting; `stack` closes them. Returns (server, its spec, scorer)."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.shutdown(socket.SHUT_RD)  # before a server lives: no descriptor ever reaches the scorer this way
    with ours, theirs:  # only the two sandboxes keep an end, so each sees the other's death as end of file
        stdin = memory_file(_order(job, copies, cpus, ours.fileno()))
        stack.callback(os.close, stdin)
        spec = _server_spec(job, copies, cpus, theirs.fileno())
        server = box.start(spec)
        stack.callback(server.close)
        scorer = box.start(_scorer_spec(job, host, copies, cpus, ours.fileno(), stdin, stderr))
        stack.callback(scorer.close)
    return server, spec, scorer


def _sampler(meter: Meter, emit: Emit) -> Callable[[], None]:
    due = 0.0

    def tick() -> None:
        nonlocal due
        now = time.monotonic()
        if now >= due:
            due = now + 1.0
            emit({"event": "sample", **meter.look(now)})

    return tick


def _lost_its_lease(job: Job, meter: Meter) -> bool:
    return meter.contention()["lost_share"] > 1 - job.clock.minimum_lease_share


def _note(receipt: facts.Receipt, job: Job, meter: Meter, log: LogFile, started: datetime) -> None:
    receipt.fields.update(
        clock=facts.clock(job, None, meter.ended - meter.started, started),
        resources=facts.resources(meter),
        contention={**meter.contention(), "minimum_lease_share": job.clock.minimum_lease_share},
        log={"sha256": log.sha256, "bytes": log.size, "truncated": log.full},
    )
