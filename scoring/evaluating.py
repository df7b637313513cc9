"""Carries out a score job: a scorer and two model servers, one after the other, each in a sandbox of its own.

    runner ── scorer ◄── socket A ──► server A        until the scorer says *scored*; killed, and seen to be gone
              scorer ◄── socket P ──► server P        then started, from copies of its own

The runner makes both sockets before anything lives, shuts the scorer's ends for reading, gives the scorer its two ends
and each server the one end that is meant for it. The other end of P's channel is in nobody's hands but the runner's
until P starts, so A can neither hear what P is asked nor leave it a word. What A has read the kernel forgets before P
starts, and what P has read before the run ends (sandbox/pagecache.py). Then it only listens (session.py).
"""

import contextlib
import hashlib
import os
import socket
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from scoring import facts, inputs, scorerbox, training
from scoring.job import Host, Job
from scoring.sandbox import box, interpreter, pagecache, runfolder
from scoring.sandbox.bwrap import HARNESS_INSIDE
from scoring.sandbox.logfile import LogFile
from scoring.sandbox.spec import SandboxError, Spec
from scoring.sandbox.supervisor import Emit
from scoring.sandbox.syscalls import memory_file
from scoring.session import Session
from scoring.usage import Usage

_SLACK_SECONDS = 120.0  # on top of the scorer's own timeouts; beyond it the scorer itself hangs


def run(job: Job, host: Host, folder: Path, cpus: tuple[int, ...], cancel: int, emit: Emit) -> dict[str, Any]:
    """Score in fresh sandboxes below `folder` and return the receipt's fields.

    Raises InputRefused before anything has started, SandboxError when the host or the scorer fails.
    """
    assert job.probes is not None  # the job's validator
    receipt = facts.Receipt(job)
    receipt.device(cpus)
    with contextlib.ExitStack() as stack:
        log = stack.enter_context(LogFile(host.log_path, job.limits.log_bytes))
        room = _Room(job, host, folder, cpus, stack)
        server, spec = room.serve("inputs")
        scorer = room.scorer()
        receipt.fields.update(isolation=facts.isolation(server, spec), environment=dict(spec.env))
        usage = Usage(cpus, scorer, emit)
        started = datetime.now(UTC)
        usage.next(server)

        def serve_again() -> box.Box:
            second, _ = room.serve("inputs-again")
            usage.next(second)
            second.go()
            return second

        session = Session(
            server=server,
            scorer=scorer,
            cancel=cancel,
            deadline=time.monotonic() + 2 * job.evaluation.timeout_seconds + _SLACK_SECONDS,
            log_bytes=job.limits.log_bytes,
            tick=usage.tick,
            last_look=usage.look,
            next_server=serve_again,
            more_seconds=(1 + job.probes.passes) * job.evaluation.timeout_seconds,
        )
        emit({"event": "started"})
        (folder / pagecache.SHOWN).touch()
        scorer.go()
        server.go()
        session.listen()
        session.end()
        log.write(session.reason())
        code, detail = session.verdict(log.last_words(), room.complaint())
        receipt.fields.update(room.told(session, code))
        if code == "eval_timeout" and usage.lost_share() > 1 - job.clock.minimum_lease_share:
            # More CPU could have changed this end, and only this one.
            code, detail = "contention", facts.lease_share(usage.lost_share(), job.clock.minimum_lease_share)
        _note(receipt, job, usage, log, started)
    return receipt.finish(code, detail)


@dataclass
class _Room:
    """The sockets and memory files of one scoring run, and what is started with them; `stack` ends it all."""

    job: Job
    host: Host
    folder: Path
    cpus: tuple[int, ...]
    stack: contextlib.ExitStack
    copies: inputs.Inputs = field(init=False)
    _channels: list[tuple[socket.socket, socket.socket]] = field(init=False)  # (scorer's end, server's), A's and P's
    _stderr: int = field(init=False)
    _reference: int = field(init=False)
    _served: int = 0

    def __post_init__(self) -> None:
        self._channels = [socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(2)]
        for ends in self._channels:
            ends[0].shutdown(socket.SHUT_RD)  # before a server lives: no descriptor ever reaches the scorer this way
            for end in ends:
                self.stack.callback(end.close)
        self._stderr, self._reference = memory_file(b""), memory_file(b"")
        for descriptor in (self._stderr, self._reference):
            self.stack.callback(os.close, descriptor)

    def serve(self, name: str) -> tuple[box.Box, Spec]:
        """Make copies in the new folder `name` and start a server on the next channel, its program waiting.

        Only the sandbox keeps this end, so the scorer sees its death as end of file. Raises InputRefused.
        """
        copies = inputs.for_serving(self.job, self.host, self.folder / name)
        if copies.manifest.commitments.get(self.job.shards.target or "") != self.job.shards.commitment:
            raise inputs.InputRefused("the sealed shard's commitment is not the one that the job pins")
        if not self._served:
            self.copies = copies
        end = self._channels[self._served][1]
        self._served += 1
        spec = _server_spec(self.job, copies, self.cpus, end.fileno())
        server = box.start(spec)
        self.stack.callback(server.close)
        end.close()
        return server, spec

    def scorer(self) -> box.Box:
        """Start the scorer, its program waiting, and give away the ends that are its own. Raises InputRefused."""
        (to_a, _), (to_p, _) = self._channels
        ends = scorerbox.Ends(to_a.fileno(), to_p.fileno(), self._reference)
        stdin = memory_file(scorerbox.order(self.job, self.copies.manifest.bos, self.cpus, ends))
        self.stack.callback(os.close, stdin)
        spec = scorerbox.spec(self.job, self.host, self.copies, self.cpus, ends, stdin=stdin, stderr=self._stderr)
        scorer = box.start(spec)
        self.stack.callback(scorer.close)
        to_a.close()
        to_p.close()
        return scorer

    def complaint(self) -> str:
        """Return what the scorer wrote about its own failure."""
        return os.pread(self._stderr, 65536, 0).decode(errors="replace")

    def told(self, session: Session, code: str) -> dict[str, Any]:
        """Return the receipt's `score`, `probes` and `reference`, and store its file. Raises SandboxError."""
        if code not in ("ok", "breach") or session.result is None:
            return {}
        probes = self.job.probes
        assert probes is not None  # the job's validator
        settings = probes.model_dump(include={"power", "strict_per_row", "repeats", "reference_sha256"})
        fields: dict[str, Any] = {"probes": {**settings, **session.result["probes"]}}
        if code == "ok":
            fields["score"] = session.result["score"]
            if probes.make_reference:
                fields["reference"] = self._keep_reference()
        return fields

    def _keep_reference(self) -> dict[str, str]:
        data = os.pread(self._reference, os.fstat(self._reference).st_size, 0)
        if not data:
            raise SandboxError("the scorer left no reference")
        target, sha256 = self.job.shards.target or "", hashlib.sha256(data).hexdigest()
        scorerbox.keep_reference(self.host, sha256, target, data)
        return {"sha256": sha256, "target": target}


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


def _note(receipt: facts.Receipt, job: Job, usage: Usage, log: LogFile, started: datetime) -> None:
    receipt.fields.update(
        clock=facts.clock(job, None, usage.seconds, started),
        resources=usage.resources(),
        contention={**usage.contention(), "minimum_lease_share": job.clock.minimum_lease_share},
        log={"sha256": log.sha256, "bytes": log.size, "truncated": log.full},
    )
