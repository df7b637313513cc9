"""The two boards of a phase: the private one is a word until the release, for everybody but organizers."""

import re

import pytest
from django.db import transaction

from leaderboard.competitions.models import Phase
from leaderboard.ledger import services as ledger
from leaderboard.runs.models import Attempt, HiddenResult, Run, Score
from tests.leaderboard.cast import later, make_user
from tests.leaderboard.web.pages import browser, outline, text
from tests.leaderboard.web.test_board import BOARD, cells

PRIVATE = f"{BOARD}?shard=private"
CANARY = 1.777


def score_privately(submission):
    """Write down what a hidden attempt brought, as the pipeline does."""
    run = Run.objects.get(submission=submission)
    attempt = Attempt.objects.create(run=run, kind="score", shard="private", hidden=True, number=1, state="finished")
    numbers = {"total_nats": 1.0, "num_bytes": 1, "num_tokens": 1, "bpb": CANARY, "published_bpb": CANARY}
    Score.objects.create(run=run, shard="private", attempt=attempt, **numbers)
    HiddenResult.objects.create(run=run, shard="private", attempt=attempt, code="ok")


def test_before_the_release_the_private_board_is_a_word_and_its_address_leads_nowhere(site):
    score_privately(site.ranked)
    Phase.objects.update(closes=later(minutes=-1))
    for who in (None, site.bob, site.ada):
        page = browser(who).get(BOARD)
        assert "private: sealed until release" in text(page)
        assert "shard=private" not in page.content.decode()
        for address in (PRIVATE, f"{BOARD}?shard=train", f"/submissions/{site.ranked.pk}/"):
            answer = browser(who).get(address)
            assert answer.status_code == 404 or "submissions" in address
            assert "1.777" not in answer.content.decode()


def test_an_organizer_sees_it_and_that_nobody_else_does(site):
    score_privately(site.ranked)
    olga = browser(make_user("olga", organizer=True))
    assert "private: sealed until release, organizers see it" in text(olga.get(BOARD))
    page = olga.get(PRIVATE)
    assert cells(page, "Bits per byte") == ["1.777"]
    assert cells(page, "Rank") == ["1 public 1"]
    assert "hx-get" not in page.content.decode()
    assert "private shard, sealed until release: 1.777" in text(olga.get(f"/submissions/{site.ranked.pk}/"))


def test_after_the_release_everybody_reads_both_and_a_row_opens_on_its_own_board(site):
    score_privately(site.ranked)
    Phase.objects.update(closes=later(minutes=-2), released_at=later(minutes=-1))
    with transaction.atomic():
        order = {"order": [site.ranked.pk]}
        ledger.append(kind="phase.released", subject=f"phase:{site.ranked.phase_id}", data=order)
    page = browser().get(f"{PRIVATE}&open={site.ranked.pk}")
    assert cells(page, "Bits per byte") == ["1.777"]
    assert "Versions tried" in text(page)
    assert f'href="?shard=private&amp;#s{site.ranked.pk}"' in page.content.decode()
    assert "/standings?shard=private" in page.content.decode()
    assert outline(page).faults == []
    assert cells(browser().get(BOARD), "Bits per byte") == ["2.034"]
    assert "rank 1 on the private board" in text(browser(site.bob).get(f"/submissions/{site.ranked.pk}/"))


def test_a_version_that_has_no_private_score_says_why(site):
    page = browser(make_user("olga", organizer=True)).get(PRIVATE)
    assert cells(page, "Rank") == ["– public 1"]
    assert cells(page, "Interval") == ["not scored yet"]


def test_compute_used_is_drawn_beside_compute_granted(site):
    Run.objects.update(charged_seconds=1.5)
    page = browser().get(BOARD).content.decode()
    assert re.search(r'0:02 / 0:02<svg class="share".*?<rect class="used" width="75.0"', page)


@pytest.mark.django_db(transaction=True)
def test_all_intervals_stand_on_one_axis():
    from leaderboard.web.marks import axis_of, interval
    from tests.leaderboard.cast import make_competition
    from tests.leaderboard.standings.entries import people, ranked

    phase = make_competition(runs=2).phases.get()
    for person, values in zip(people(2), [(2.0, 2.01), (2.5, 2.51)], strict=True):
        ranked(phase, person, *values)
    from leaderboard.standings.queries import board

    rows = board(phase).rows
    axis = axis_of(rows)
    first, second = (re.findall(r"[MHx]=?\"?([\d.]+)", interval(row, axis)) for row in rows)
    assert (first[1], second[2]) == ("6.0", "154.0")
    assert browser().get(BOARD).content.decode().count('class="interval"') == 2
