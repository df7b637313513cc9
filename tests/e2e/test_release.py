"""The private shard with real processes: scored unseen once the phase is closed, released as an organizer saw it."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.scripts import BIGRAM
from tests.e2e.site import COMPETITION, Site, last_event, manage

ORGANIZER = """
from leaderboard.accounts.models import User
from leaderboard.accounts.services import issue_token
olga = User.objects.create_user("olga", "olga@example.org", "a long enough password", is_staff=True)
print("TOKEN", issue_token(user=olga, name="tests", days=1)[1])
"""


@pytest.fixture
def contest(tmp_path: Path) -> Path:
    """A competition file of its own, whose phase has the script of pairs as its baseline."""
    (tmp_path / "pairs.py").write_text(BIGRAM)
    text = COMPETITION.read_text().replace('slug = "quick"', 'slug = "sealed"')
    head, _, phase = text.rpartition('slug = "open"')
    phase = phase.replace("advance = 10", "advance = 1")
    phase = phase.replace("[phases.probes]", '[phases.probes]\nbaseline = "pairs.py"')
    path = tmp_path / "competition.toml"
    path.write_text(f'{head}slug = "open"{phase}')
    return path


def test_a_closed_phase_is_scored_on_the_private_shard_and_released(site: Site, contest: Path) -> None:
    manage(site.home, "competition", "load", str(contest))
    token = manage(site.home, "shell", "--no-imports", "--command", ORGANIZER).split("TOKEN ")[1].strip()
    organizer = Site(site.home, site.url, token)
    ended = last_event(site.submit(BIGRAM, "--competition", "sealed"))
    assert ended["event"] == "ranked", ended
    mine = f"submissions/{ended['submission']}"
    before = site.api("GET", mine).json(), site.api("GET", mine + "/events").json(), site.api("GET", "me").json()
    board = "competitions/sealed/phases/open/standings?shard=private"
    contest.write_text(contest.read_text().replace("2099-01-01T00:00:00Z", datetime.now(UTC).isoformat()))
    manage(site.home, "competition", "load", str(contest))
    while "--confirm" not in (shown := manage(site.home, "release", "sealed/open")):
        assert site.api("GET", board).json()["code"] == "sealed"
    assert "Private scores: 1 in, 0 failed, 0 missing." in shown
    assert "probed again at ten times the power: 1 clean." in shown
    assert before == (
        site.api("GET", mine).json(),
        site.api("GET", mine + "/events").json(),
        site.api("GET", "me").json(),
    )
    digest = shown.split("--confirm ")[1].split()[0]
    manage(site.home, "release", "sealed/open", "--confirm", digest, "--by", "olga")
    (row,) = site.api("GET", board).json()["rows"]
    assert (row["rank"], row["public_rank"], row["outcome"]) == (1, 1, "")
    assert row["bpb"] != ended["bpb"]
    assert private_receipt(site, mine)["body"] is None, "another contest is still scored on this shard"
    body = private_receipt(organizer, mine)["body"]
    probes, reference = body["probes"], body["reference"]
    assert (probes["strict"]["breached"], probes["power"], reference["target"]) == (0, 1, "private")


def private_receipt(reader: Site, submission: str) -> dict[str, Any]:
    """Return the receipt of the private shard as somebody reads it."""
    receipts: list[dict[str, Any]] = reader.api("GET", f"{submission}/receipts").json()["receipts"]
    return next(one for one in receipts if one["shard"] == "private")
