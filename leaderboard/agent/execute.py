"""One attempt from claim to receipt.

The run does not depend on the platform being reachable: signs of life, events and log are sent when they can be,
only the claim and the end insist. When the platform refuses a report the lease is gone, somebody else may have the
run already, and this one is stopped.
"""

import json
import logging
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from leaderboard.agent.platform import Offer, Platform, Refused, Unreachable
from scoring.backends.local import LocalRun
from scoring.facts import level

log = logging.getLogger(__name__)
LOG_CHUNK = 256 * 1024


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
    folder = Path(tempfile.mkdtemp(prefix=f"{attempt_id}-", dir=host.folder / "jobs"))
    try:
        _carry_out(platform, host, offer, folder, signing_key.private_bytes_raw().hex())
    except Refused as no:
        log.warning("attempt %s was taken from this agent: %s", attempt_id, no)
    except Unreachable as gone:
        log.error("attempt %s could not be handed in: %s", attempt_id, gone)
    finally:
        shutil.rmtree(folder)


def _carry_out(platform: Platform, host: Host, offer: Offer, folder: Path, signing_key: str) -> None:
    script = folder / "script"
    script.write_bytes(platform.script())
    job_path = folder / "job.json"
    job = offer.job | {"host": host.paths(offer.job, offer.attempt_id, script)}
    job_path.write_text(json.dumps(job))
    log_path = Path(job["host"]["log_path"])
    log_path.unlink(missing_ok=True)
    run = LocalRun.start(job_path, signing_key)
    try:
        _follow(platform, offer, run, log_path)
    finally:
        run.kill()
    platform.finish(run.outcome())
    log_path.unlink(missing_ok=True)


def _follow(platform: Platform, offer: Offer, run: LocalRun, log_path: Path) -> None:
    """Relay events and log until the run has ended and everything it wrote is across."""
    sent, unsent = 0, []
    while True:
        ended = run.wait(offer.heartbeat_seconds)
        unsent += [event for event in run.take_events() if event["event"] != "receipt"]
        try:
            if platform.report(unsent):
                run.cancel()
            unsent = []
            sent = _send_log(platform, log_path, sent)
        except Unreachable as gone:
            log.warning("attempt %s: report waits: %s", offer.attempt_id, gone)
        if ended:
            _deliver_rest(platform, log_path, sent)
            return


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


def _deliver_rest(platform: Platform, log_path: Path, sent: int) -> None:
    """Try a little longer for the end of the log; a log that stays short is no reason to lose a receipt."""
    for _ in range(5):
        try:
            _send_log(platform, log_path, sent)
        except Unreachable:
            time.sleep(1)
        else:
            return
