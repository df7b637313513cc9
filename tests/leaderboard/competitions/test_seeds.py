"""Seeds: drawn from a secret that was committed to, the same again for the same run, unknown without the file."""

import hashlib
from pathlib import Path

import pytest
from django.conf import settings

from leaderboard.competitions.seeds import draw, seed_for
from tests.leaderboard.cast import make_competition, make_phase

pytestmark = pytest.mark.django_db


@pytest.fixture
def phase():
    return make_competition().phases.get()


def secret_file(phase) -> Path:
    return Path(settings.HOME) / "secrets" / f"seed-{phase.pk}.key"


def test_the_commitment_is_the_hash_of_a_secret_that_only_we_read(phase):
    path = secret_file(phase)
    assert path.stat().st_mode & 0o777 == 0o600
    assert hashlib.sha256(bytes.fromhex(path.read_text())).hexdigest() == phase.seed_commitment


def test_a_run_has_one_seed_and_another_run_script_or_phase_another(phase):
    other = make_phase(phase.competition, "final")
    seeds = [
        seed_for(phase, "a" * 64, 0),
        seed_for(phase, "a" * 64, 1),
        seed_for(phase, "b" * 64, 0),
        seed_for(other, "a" * 64, 0),
    ]
    assert seed_for(phase, "a" * 64, 0) == seeds[0]
    assert len(set(seeds)) == 4
    assert all(0 <= seed < 2**53 for seed in seeds)


def test_a_secret_that_is_gone_or_another_gives_no_seed(phase):
    path = secret_file(phase)
    path.write_text("00" * 32)
    with pytest.raises(RuntimeError, match="not the one that was committed to"):
        seed_for(phase, "a" * 64, 0)
    path.unlink()
    with pytest.raises(RuntimeError, match="cannot be read"):
        seed_for(phase, "a" * 64, 0)


def test_a_secret_is_never_drawn_twice(phase):
    before = secret_file(phase).read_text()
    with pytest.raises(ValueError, match="committed"):
        draw(phase)
    assert secret_file(phase).read_text() == before
