"""Plays the two ends of a queue: the platform's worker, and an agent that speaks HTTP with real keys and signatures.

drive()                      let the platform's worker do everything that waits on its queue
host = Host.register()       an agent with a key
work = host.claim_next()     take the next message of its hardware queue and claim the attempt
work.finish(code="ok")       sign and hand in a receipt of the shape that the runner writes
"""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.db import transaction
from django.test import Client

from leaderboard.celery import app
from leaderboard.competitions.models import Competition
from leaderboard.pipeline.tasks import dispatch
from leaderboard.runs import agents
from leaderboard.submissions import transitions
from leaderboard.submissions.models import Submission
from leaderboard.submissions.services import receive
from reviewer import child, warm
from scoring import receipt as receipts
from tests.leaderboard.cast import SCRIPT

CHECKPOINT = "9" * 64
REFERENCE = "7" * 64
BYTES, ROWS = 150_000, 243


def each_audit_ends_by(host: pytest.MonkeyPatch, signal: str) -> None:
    """Let somebody end the process of every audit."""
    host.setattr(child, "_START", f"import os, signal; os.kill(os.getpid(), signal.{signal})")
    host.setattr(warm, "run", warm._by_itself)


def take(queue: str) -> Iterator[tuple[str, list[Any]]]:
    """Yield the messages of a queue as (task, args) until it is empty."""
    with app.connection_for_read() as connection:
        while message := connection.default_channel.basic_get(queue, no_ack=True):
            args, kwargs, _ = json.loads(message.body)
            assert kwargs == {}
            yield message.headers["task"], args


def drive() -> list[str]:
    """Do what waits for the platform's worker, and what follows from it; return the names of the tasks done."""
    done = []
    for name, args in take("platform"):
        app.tasks[name](*args)
        done.append(name)
    return done


def send(user: Any, competition: Competition, script: str | bytes = SCRIPT, **more: Any) -> Submission:
    """Upload a script to a competition's phase called "open"."""
    data = script.encode() if isinstance(script, str) else script
    return receive(
        user=user, competition_slug=competition.slug, phase_slug=more.pop("phase", "open"), script=data, **more
    )


def queue(submission: Submission) -> Submission:
    """Bring an upload to its hardware queue without the audit's second, for tests of what comes after it."""
    list(take("platform"))
    assert transitions.start_audit(submission)
    assert transitions.accept(submission)
    dispatch(submission.pk)
    submission.refresh_from_db()
    return submission


@dataclass
class Work:
    """One claimed attempt."""

    client: Client
    attempt: int
    capability: str
    job: dict[str, Any]
    key: Ed25519PrivateKey

    def call(self, method: str, what: str, **more: Any) -> Any:
        path = f"/api/v1/agents/attempts/{self.attempt}/{what}"
        more.setdefault("headers", {"Authorization": f"Bearer {self.capability}"})
        return getattr(self.client, method)(path, **more)

    def report(self, *events: dict[str, Any]) -> Any:
        return self.call("post", "events", data=json.dumps({"events": events}), content_type="application/json")

    def log(self, offset: int, data: bytes) -> Any:
        return self.call("put", f"log?offset={offset}", data=data, content_type="application/octet-stream")

    def receipt(
        self,
        code: str = "ok",
        detail: str = "",
        bpb: float = 2.0,
        correction: tuple[float, float] = (0, 0),
        **over: Any,
    ) -> dict[str, Any]:
        """Return a receipt of the runner's shape about this job; `over` replaces top-level fields.

        `correction` is what looking ahead gained, and its standard error.
        """
        job = self.job
        body: dict[str, Any] = {
            "schema": 1,
            **{name: job[name] for name in ("kind", "run_id", "attempt_id", "script_sha256", "kit_sha256", "seed")},
            "launch": job["launch"],
            "shards": job["shards"],
            "evaluation": job["evaluation"],
            "isolation": {"level": "user", "settings": {}, "settings_sha256": "0" * 64},
            "clock": {"budget": job["clock"]["budget_seconds"], "charged": 1.5, "startup": 0.25},
            "checkpoint_sha256": job["checkpoint_sha256"],
            "score": None,
            "exit": {"code": code, "owner": "script", "detail": detail},
        }
        if job["kind"] == "train":
            body["steps"] = {"count": 40, "median_seconds": 0.01}
            body["checkpoint_sha256"] = CHECKPOINT if code == "ok" else None
        elif code in ("ok", "breach"):
            body["score"] = score(bpb, *correction) if code == "ok" else None
            body["probes"] = probes(job["probes"], breached=ROWS if code == "breach" else 0)
            made = {"sha256": REFERENCE, "target": job["shards"]["target"]}
            body["reference"] = made if job["probes"]["make_reference"] and code == "ok" else None
        return {**body, **over}

    def finish(self, code: str = "ok", *, key: Ed25519PrivateKey | None = None, **facts: Any) -> Any:
        return self.hand_in(self.receipt(code, **facts), key=key)

    def hand_in(self, receipt: dict[str, Any], *, key: Ed25519PrivateKey | None = None) -> Any:
        body = {"receipt": receipt, "signature": receipts.sign(receipt, key or self.key)}
        return self.call("post", "finish", data=json.dumps(body), content_type="application/json")

    def fault(self, sentence: str = "the disk is full") -> Any:
        return self.call("post", "finish", data=json.dumps({"fault": sentence}), content_type="application/json")


@dataclass
class Host:
    """An agent."""

    key: str
    hardware: str = "cpu"
    client: Client = field(default_factory=lambda: Client(raise_request_exception=False))

    @classmethod
    def register(cls, name: str = "local", hardware: str = "cpu") -> "Host":
        with transaction.atomic():
            return cls(agents.add(name=name, hardware=hardware), hardware)

    def claim(self, attempt: int, *, isolation: str = "user", key: Ed25519PrivateKey | None = None) -> Any:
        """Ask for an attempt; return the response."""
        facts = {"public_key": receipts.public_key(key or receipts.new_key()), "host": {}, "isolation": isolation}
        return self.client.post(
            f"/api/v1/agents/attempts/{attempt}/claim",
            data=json.dumps(facts),
            content_type="application/json",
            headers={"Authorization": f"Agent {self.key}"},
        )

    def work(self, attempt: int) -> Work:
        """Claim an attempt that is to be had."""
        key = receipts.new_key()
        answer = self.claim(attempt, key=key)
        assert answer.status_code == 200, answer.content
        body = answer.json()
        return Work(self.client, attempt, body["capability"], body["job"], key)

    def claim_next(self) -> Work:
        """Take the next message of the hardware queue and claim what it offers."""
        name, args = next(take(f"hw.{self.hardware}"))
        assert name == "agent.execute"
        return self.work(*args)

    def run(self, bpb: float = 2.0) -> None:
        """Train and score what comes next, all well."""
        self.claim_next().finish()
        drive()
        self.claim_next().finish(bpb=bpb)
        drive()


def score(bpb: float, correction: float = 0.0, error: float = 0.0) -> dict[str, Any]:
    """Return the numbers of a score whose parts agree."""
    nats = bpb * math.log(2) * BYTES
    scored = nats / (math.log(2) * BYTES)
    return {
        "total_nats": nats,
        "num_bytes": BYTES,
        "num_tokens": 62_000,
        "bpb": scored,
        "rows": ROWS,
        "seconds": 1.5,
        "correction": correction,
        "correction_se": error,
        "published_bpb": scored + max(0.0, correction + 1.64 * error),
    }


def probes(asked: dict[str, Any], *, breached: int = 0) -> dict[str, Any]:
    """Return the probe table of a job that asked for one, with so many strict positions that differ."""
    nothing = {"asked": 0, "breached": 0, "compared": 0, "largest": 0.0}
    strict = {"asked": ROWS, "breached": breached, "compared": 31_000, "largest": 0.5 if breached else 0.0}
    return {
        **{key: asked[key] for key in ("power", "strict_per_row", "repeats", "reference_sha256")},
        "tolerance": 1e-5,
        "seconds": 1.5,
        "cost": 1.0,
        "strict": strict if asked["strict_per_row"] else nothing,
        "repeat": {"asked": 12, "breached": 0, "compared": 3072, "largest": 0.0} if asked["repeats"] else nothing,
        "mean_p": 1e-9 if breached else None,
        "evidence": [{"kind": "strict", "row": 7, "position": 31, "difference": 0.5}] if breached else [],
    }
