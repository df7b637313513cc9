"""One attempt from claim to receipt.

The run does not depend on the platform being reachable: signs of life, events and log are sent when they can be,
only the claim and the end insist. When the platform refuses a report the lease is gone, somebody else may have the
run already, and this one is stopped. What goes wrong on this host's own disk is handed in as the end: ours.
"""

import json
import logging
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from leaderboard.agent.platform import Offer, Platform, Refused, Unreachable
from scoring.backends.local import LocalRun
from scoring.facts import level
from scoring.room import is_full

log = logging.getLogger(__name__)
LOG_CHUNK = 256 * 1024
UNSENT_KEPT = 1000  # events; the platform takes no more than 5000 at once, and a long outage has more of them


@dataclass(frozen=True)
class Host:
    """Where things are on this machine."""

    home: Path

    @classmethod
    def below(cls, home: Path) -> "Host":
        return cls(home.resolve())

    @property
    def folder(self) -> Path:
        return self.home / "agent"

    @property
    def runs_dir(self) -> Path:
        return self.folder / "runs"

    def prepare(self) -> None:
        for name in ("runs", "checkpoints", "logs", "jobs"):
            (self.folder / name).mkdir(parents=True, exist_ok=True, mode=0o700)

    def paths(self, job: dict[str, Any], attempt_id: int, script: Path) -> dict[str, str]:
        """Return the job's `host` table: ids that the platform sent become paths here, and only here."""
        shard_set = Path(job["shards"]["set"]).name
        return {
            "script_path": str(script),
            "kit_dir": str(self.home / "kits" / Path(job["kit_sha256"]).name),
            "open_dir": str(self.home / "shards" / shard_set),
            "sealed_dir": str(self.home / "sealed" / shard_set),
            "key_path": str(self.home / "sealed" / "key"),
            "runs_dir": str(self.runs_dir),
            "checkpoints_dir": str(self.folder / "checkpoints"),
            "log_path": str(self.folder / "logs" / f"{attempt_id}.log"),
        }


def execute_attempt(platform: Platform, host: Host, attempt_id: int) -> None:
    """Claim an attempt, run it here, and hand in its receipt. Returns quietly when it is not to be had."""
    signing_key = Ed25519PrivateKey.generate()
    public_key = signing_key.public_key().public_bytes_raw().hex()
    offer = platform.claim(attempt_id, public_key=public_key, host={}, isolation=level())
    if offer is None:
        return
    try:
        with tempfile.TemporaryDirectory(prefix=f"{attempt_id}-", dir=host.folder / "jobs") as folder:
            _carry_out(platform, host, offer, Path(folder), signing_key.private_bytes_raw().hex())
    except Refused as no:
        log.warning("attempt %s was taken from this agent: %s", attempt_id, no)
    except Unreachable as gone:
        log.error("attempt %s could not be handed in: %s", attempt_id, gone)
    except OSError as error:
        log.error("attempt %s cannot be carried out here: %s", attempt_id, error)
        _give_up(platform, attempt_id, error)


def _give_up(platform: Platform, attempt_id: int, error: OSError) -> None:
    """Say at once what this host cannot do, instead of letting the lease run out."""
    cause = {"cause": "host_full"} if is_full(error) else {}
    try:
        platform.finish({"fault": str(error)[:500], **cause})
    except (Refused, Unreachable) as no:
        log.warning("attempt %s was not given up: %s", attempt_id, no)


def _carry_out(platform: Platform, host: Host, offer: Offer, folder: Path, signing_key: str) -> None:
    script = folder / "script"
    script.write_bytes(platform.script())
    job_path = folder / "job.json"
    job = offer.job | {"host": host.paths(offer.job, offer.attempt_id, script)}
    job_path.write_text(json.dumps(job))
    log_path = Path(job["host"]["log_path"])
    log_path.unlink(missing_ok=True)
    try:
        run = LocalRun.start(job_path, signing_key)
        try:
            sent = _follow(platform, offer, run, log_path)
        finally:
            run.kill()
        _hand_in(platform, run.outcome(), log_path, sent)
    finally:
        log_path.unlink(missing_ok=True)


def _hand_in(platform: Platform, outcome: dict[str, Any], log_path: Path, sent: int) -> None:
    """Hand in the end; before each try what is left of the log, of which nothing more is taken after the end."""

    def deliver() -> None:
        with suppress(Unreachable):
            _send_log(platform, log_path, sent)

    platform.finish(outcome, before=deliver)


def _follow(platform: Platform, offer: Offer, run: LocalRun, log_path: Path) -> int:
    """Relay events and log until the run has ended and what it wrote is across; return how much of the log is."""
    sent, unsent = 0, []
    while True:
        ended = run.wait(offer.heartbeat_seconds)
        unsent += [event for event in run.take_events() if event["event"] != "receipt"]
        unsent = _newest(unsent)
        try:
            if platform.report(unsent):
                run.cancel()
            unsent = []
            sent = _send_log(platform, log_path, sent)
        except Unreachable as gone:
            log.warning("attempt %s: report waits: %s", offer.attempt_id, gone)
        if ended:
            return _deliver_rest(platform, log_path, sent)


def _newest(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the events that still wait, of too many the newest; the startup's comes once and stays."""
    if len(events) <= UNSENT_KEPT:
        return events
    early, late = events[:-UNSENT_KEPT], events[-UNSENT_KEPT:]
    return [event for event in early if event["event"] == "startup"] + late


def _send_log(platform: Platform, log_path: Path, sent: int) -> int:
    """Post what the log has grown by since `sent`; return the new place."""
    if not log_path.exists():
        return sent
    with log_path.open("rb") as file:
        while True:
            file.seek(sent)
            data = file.read(LOG_CHUNK)
            if not data:
                return sent
            size = platform.append_log(sent, data)
            if size == sent:  # full: the platform keeps no more of it
                return sent
            sent = size


def _deliver_rest(platform: Platform, log_path: Path, sent: int) -> int:
    """Try a little longer for the end of the log; a log that stays short is no reason to lose a receipt.

    Each try is a sign of life as well: a site that has no room for a log goes on counting the lease.
    """
    for _ in range(5):
        try:
            platform.report([])
            return _send_log(platform, log_path, sent)
        except Unreachable:
            time.sleep(1)
    return sent
