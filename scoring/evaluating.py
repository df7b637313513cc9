"""Carries out a score job: a model server and a scorer, each in a sandbox, a socket between them.

The runner makes the socket, gives each side one end, and then only listens. The scorer (trusted) speaks JSON lines;
the server's output is text of submitted code. That text is held in memory and becomes the log only when the model
never got as far as *ready*: from then on the server sees sealed rows, and what it prints is an exfiltration channel.
Since *ready* is said before the first row is asked, nothing printed after a row can be in a log that is kept.
"""

import contextlib
import json
import os
import selectors
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from scoring import facts, inputs, outcomes, training
from scoring.job import Host, Job
from scoring.sandbox import box, interpreter, runfolder
from scoring.sandbox.bwrap import HARNESS_INSIDE
from scoring.sandbox.logfile import LogFile
from scoring.sandbox.meter import Meter
from scoring.sandbox.spec import SLOTS, Bind, Caps, Data, SandboxError, Spec
from scoring.sandbox.supervisor import Emit
from scoring.sandbox.syscalls import memory_file

_PACKAGE = Path(__file__).resolve().parent
_ROOM = "/opt/holdout"  # where the scorer finds our own code
_SEALED = "/holdout/sealed"
_SCORER_CAPS = Caps(memory_bytes=1 << 33, processes=256, open_files=1024, file_bytes=1 << 40, tmp_bytes=1 << 26)
_HELD = 1 << 20  # bytes of a server's output held until it is ready
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


@dataclass
class Session:
    """Listens to both sandboxes until the scorer has ended."""

    server: box.Box
    scorer: box.Box
    cancel: int
    deadline: float
    log_bytes: int
    tick: Callable[[], None]
    held: bytes = b""
    printed: int = 0
    ready: bool = False
    result: dict[str, Any] | None = None
    cause: str = ""
    _lines: bytes = b""

    def listen(self) -> None:
        """Return when the scorer has said its last word, or the run was called off."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.scorer.output, selectors.EVENT_READ, self._hear_scorer)
            selector.register(self.server.output, selectors.EVENT_READ, self._hear_server)
            selector.register(self.cancel, selectors.EVENT_READ, self._hear_cancel)
            while not self.cause:
                if time.monotonic() > self.deadline:
                    raise SandboxError("the scorer did not end in time")
                for key, _ in selector.select(0.5):
                    if key.data() is False:
                        selector.unregister(key.fd)
                        if key.fd == self.scorer.output:
                            return
                self.tick()

    def _hear_cancel(self) -> None:
        self.cause = "cancelled"

    def _hear_server(self) -> bool:
        chunk = os.read(self.server.output, 1 << 16)
        if not self.ready:
            self.held = (self.held + chunk)[-_HELD:]
            self.printed += len(chunk)
            if self.printed > self.log_bytes:
                self.cause = "log_limit"
        return bool(chunk)

    def _hear_scorer(self) -> bool:
        chunk = os.read(self.scorer.output, 1 << 16)
        *lines, self._lines = (self._lines + chunk)[-(1 << 20) :].split(b"\n")
        for line in lines:
            message = json.loads(line)
            if message.get("event") == "ready":
                self.ready, self.held = True, b""
            elif "ok" in message:
                self.result = message
        return bool(chunk)


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
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        stdin, stderr = memory_file(_order(job, copies, cpus, ours.fileno())), memory_file(b"")
        for fd in (stdin, stderr):
            stack.callback(os.close, fd)
        with ours, theirs:  # only the two sandboxes keep an end, so each sees the other's death as end of file
            server_spec = _server_spec(job, copies, cpus, theirs.fileno())
            server = box.start(server_spec)
            stack.callback(server.close)
            scorer = box.start(_scorer_spec(job, host, copies, cpus, ours.fileno(), stdin, stderr))
            stack.callback(scorer.close)
        started, meter = datetime.now(UTC), Meter(server, cpus, time.monotonic(), scorer)
        emit({"event": "started"})
        scorer.go()
        server.go()
        session = Session(
            server=server,
            scorer=scorer,
            cancel=cancel,
            deadline=time.monotonic() + 2 * job.evaluation.timeout_seconds + _SLACK_SECONDS,
            log_bytes=job.limits.log_bytes,
            tick=_sampler(meter, emit),
        )
        session.listen()
        now = time.monotonic()
        meter.look(now)
        memory = server.group.out_of_memory()
        for sandbox in (server, scorer):
            sandbox.kill()
            sandbox.wait()
        log.write(session.held)
        code, detail = _judge(session, memory, log, stderr)
        contention = meter.contention()
        if code == "eval_timeout" and contention["lost_share"] > 1 - job.clock.minimum_lease_share:
            code, detail = "contention", ""  # more CPU could have changed this end, and only this one
        if code == "ok" and session.result is not None:
            receipt.fields["score"] = session.result["score"]
        receipt.fields.update(
            isolation=facts.isolation(server, server_spec),
            environment=dict(server_spec.env),
            clock=facts.clock(job, None, now - meter.started, started),
            resources=facts.resources(meter),
            contention={**contention, "minimum_lease_share": job.clock.minimum_lease_share},
            log={"sha256": log.sha256, "bytes": log.size, "truncated": log.full},
        )
    return receipt.finish(code, detail)


def _sampler(meter: Meter, emit: Emit) -> Callable[[], None]:
    due = 0.0

    def tick() -> None:
        nonlocal due
        now = time.monotonic()
        if now >= due:
            due = now + 1.0
            emit({"event": "sample", **meter.look(now)})

    return tick


def _judge(session: Session, memory: bool, log: LogFile, stderr: int) -> tuple[str, str]:
    if session.cause:
        return session.cause, ""
    result = session.result
    if result is not None and result.get("ok") is True:
        return "ok", ""
    if memory:
        return "memory_limit", ""
    code = "" if result is None else str(result.get("code"))
    if code not in outcomes.OUTCOMES or outcomes.of(code).owner != "script":
        said = os.pread(stderr, 65536, 0).decode(errors="replace").strip().splitlines()
        raise SandboxError(f"the scorer failed: {said[-1][:300] if said else 'it ended without a result'}")
    return code, "" if session.ready else log.last_words()
