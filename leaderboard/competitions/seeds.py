"""The platform's seeds: drawn from a secret whose hash is public before the phase opens.

    seed(script, run) = first 53 bits of HMAC-SHA256(secret of the phase, script sha256 ":" run index)

So nobody picks a lucky seed, neither competitor (the secret is hidden) nor organizer (it is committed to before any
script exists). 53 bits: a receipt is JSON, whose whole numbers are exact below 2**53.
"""

import hashlib
import hmac
import secrets
from pathlib import Path

from leaderboard.competitions.models import Phase
from leaderboard.core.secrets import write_private
from leaderboard.env import env


def draw(phase: Phase) -> None:
    """Draw the secret of a phase that has none, keep it in a file of our user's, and save its commitment.

    Called in the transaction that makes the phase. A file that is there already is of a load that was rolled back: no
    phase is committed to it, so it is replaced.
    """
    if phase.seed_commitment:
        raise ValueError(f"phase {phase.pk} is committed to a secret already")
    secret = secrets.token_bytes(32)
    write_private(_path(phase), secret.hex())
    phase.seed_commitment = hashlib.sha256(secret).hexdigest()
    phase.save(update_fields=["seed_commitment"])


def seed_for(phase: Phase, script_sha256: str, index: int) -> int:
    """Return the seed of a script's run number `index` in a phase, 0 ≤ seed < 2**53.

    Raises RuntimeError when the secret is gone or is not the one that was committed to: then nothing may run.
    """
    try:
        secret = bytes.fromhex(_path(phase).read_text())
    except (OSError, ValueError) as error:
        raise RuntimeError(f"the seed secret of phase {phase.pk} cannot be read: {error}") from error
    if hashlib.sha256(secret).hexdigest() != phase.seed_commitment:
        raise RuntimeError(f"the seed secret of phase {phase.pk} is not the one that was committed to")
    digest = hmac.digest(secret, f"{script_sha256}:{index}".encode(), "sha256")
    return int.from_bytes(digest[:8], "big") >> 11


def _path(phase: Phase) -> Path:
    return env().home / "secrets" / f"seed-{int(phase.pk)}.key"
