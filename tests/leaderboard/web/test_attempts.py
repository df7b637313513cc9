"""The attempts of a submission on its page: device series, receipt in words, probes; and who may read how much."""

import re

import pytest

from leaderboard.competitions.models import Phase
from leaderboard.runs.models import Attempt, Receipt
from tests.leaderboard.cast import SCRIPT, later, make_competition, make_user
from tests.leaderboard.host import Host, drive, send
from tests.leaderboard.web.pages import browser, outline, text
from tests.leaderboard.web.receipt import TRAINED, probed

pytestmark = pytest.mark.django_db(transaction=True)
SECRETS = (
    "191919191",
    "87.6",
    "123,456,789",
    "2.0344",
    "118 MB",
)  # position, difference, the server's memory, the exact score


@pytest.fixture
def ranked():
    """Return (owner, submission) of a ranked version with full receipts."""
    ada, demo, host = make_user("ada"), make_competition(), Host.register()
    submission = send(ada, demo, SCRIPT)
    drive()
    host.claim_next().finish(**TRAINED)
    drive()
    host.claim_next().finish(bpb=2.03449, **probed())
    drive()
    return ada, submission


def page_of(who, submission):
    return browser(who).get(f"/submissions/{submission.pk}/")


def section(response, name):
    page = response.content.decode()
    start = page.index(f'<section id="{name}"')
    return page[start : page.index("</section>", start)]


def test_a_receipt_is_told_in_words(ranked):
    said = text(page_of(*ranked))
    for words in (
        "t0, process start 2026-01-02 03:04:05 UTC",
        "tN, end of startup 3.25 s after t0, with 2 excluded steps made",
        "Startup 3.25 s of at most 30 s, not charged",
        "Charged 1.50 s of 2 s",
        "Steps 40, 12.5 ms each in the median",
        "CPU time 4.50 s on 1 leased CPU",
        "Peak memory 300 MB of",
        "Lease 100 % of it was there to be used; 90 % are promised",
        "Isolation user",
        "1 × A Fine CPU",
        "The run finished and left a checkpoint.",
        "9" * 64,
        "✓ Signature verified just now",
    ):
        assert words in said


def test_a_receipt_that_was_touched_is_said_to_be_so(ranked):
    receipt = Receipt.objects.get(attempt__kind="train")
    receipt.body["clock"]["charged"] = 0.5
    receipt.save()
    said = text(page_of(*ranked))
    assert said.count("✓ Signature verified") == 1
    assert said.count("✕ Signature the signature does not hold") == 1


def test_the_series_is_drawn_and_stands_behind_it_as_numbers(ranked):
    response = page_of(*ranked)
    drawn = section(response, "device")
    assert drawn.count('<svg class="line"') == 3
    assert drawn.count("<polyline") == 3
    for words in (
        "CPU use, share of 1 leased CPU",
        "The axis starts at 50 %",
        "The axis starts at 100 MB",
        "processes",
    ):
        assert words in drawn
    for svg in re.findall(r"<svg class=\"line\".*?</svg>", drawn, flags=re.DOTALL):
        assert re.search(
            r'role="img" aria-labelledby="(\S+-t) (\S+-d)"><title id="\1">[^<]+</title><desc id="\2">', svg
        )
    rows = re.findall(r"<tr><td.*?</tr>", drawn)
    assert [re.findall(r">([^<>]+)</td>", row) for row in rows] == [
        ["0.0", "0.00", "–", "100 MB", "2"],
        ["2.0", "1.00", "50 %", "250 MB", "5"],
        ["4.0", "3.00", "100 %", "300 MB", "4"],
    ]
    assert outline(response).faults == []


def test_its_team_sees_kinds_and_counts_of_the_probes_and_nothing_that_sealed_text_could_be_read_from(ranked):
    ada, submission = ranked
    said = section(page_of(ada, submission), "attempts")
    for words in (
        "strict positions",
        "246",
        "62,000",
        "none that counts",
        "Power 1",
        "evenly",
        "opens at the phase",
    ):
        assert words in said
    for secret in (*SECRETS, "Evidence", "Largest", "0.34", "own time"):
        assert secret not in said


def test_an_organizer_sees_the_evidence(ranked):
    _, submission = ranked
    said = section(page_of(make_user("olga", organizer=True), submission), "attempts")
    for words in (
        "Evidence: 1 position",
        "191919191",
        "87.6",
        "Largest difference",
        "p = 0.5",
        "118 MB",
        "0.34 of the scoring",
    ):
        assert words in said


def test_after_the_release_the_receipt_of_the_scoring_is_its_teams_to_read_and_the_evidence_is_not(ranked):
    ada, submission = ranked
    Phase.objects.update(closes=later(hours=-1), released_at=later(minutes=-1))
    said = section(page_of(ada, submission), "attempts")
    assert "118 MB" in said
    assert "opens at the phase" not in said
    assert "191919191" not in said


def test_what_was_scored_and_probed_after_the_close_appears_with_the_release(ranked):
    ada, submission = ranked
    known = {
        "run": submission.runs.get(),
        "kind": "score",
        "hidden": True,
        "number": 1,
        "leased_at": later(),
        "state": "lost",
    }
    for shard in ("private", "public"):
        Attempt.objects.create(shard=shard, **known)
    hidden = ("Scoring on the private shard", "Probing again on the public shard")
    Phase.objects.update(closes=later(hours=-1))
    for who in (ada, make_user("olga", organizer=True)):
        assert not [words for words in hidden if words in text(page_of(who, submission))]
    Phase.objects.update(released_at=later(minutes=-1))
    assert [words for words in hidden if words in text(page_of(ada, submission))] == list(hidden)


def test_a_stranger_sees_no_attempt(ranked):
    _, submission = ranked
    page = page_of(make_user("bob"), submission).content.decode()
    assert "<svg" not in page
    assert "Signature" not in page


@pytest.mark.parametrize(("breached", "told"), [(246, "all 246"), (245, "at least 128"), (3, "at least 2")])
def test_a_team_reads_how_large_a_breach_was_and_organizers_its_count(breached, told):
    ada, demo, host = make_user("ada"), make_competition(), Host.register()
    submission = send(ada, demo, SCRIPT)
    drive()
    host.claim_next().finish(**TRAINED)
    drive()
    host.claim_next().finish("breach", **probed(breached=breached))
    drive()
    assert f"✕ {told}" in text(page_of(ada, submission))
    assert f"✕ {breached}" in text(page_of(make_user("olga", organizer=True), submission))
    assert "191919191" not in section(page_of(ada, submission), "attempts")


def test_every_attempt_that_was_begun_is_shown():
    ada, demo, host = make_user("ada"), make_competition(), Host.register()
    submission = send(ada, demo, SCRIPT)
    drive()
    host.claim_next().fault("the disk of host seven is full")
    drive()
    host.claim_next()
    said = text(page_of(ada, submission))
    assert "↻ lost Training" in said
    assert "▶ running Training, attempt 2" in said
    assert "host seven" not in said
    assert "host seven" in text(page_of(make_user("olga", organizer=True), submission))


def asked(response, name="live"):
    from html import unescape

    return next(
        unescape(url) for url in re.findall(r'hx-get="([^"]*)"', response.content.decode()) if f"/{name}/" in url
    )


def test_while_it_trains_the_drawing_grows_in_its_frame_and_an_open_table_stays_open():
    ada, demo, host = make_user("ada"), make_competition(), Host.register()
    submission, client = send(ada, demo, SCRIPT), browser(ada)
    drive()
    work = host.claim_next()
    page = client.get(f"/submissions/{submission.pk}/")
    assert "<svg" not in page.content.decode()
    sample = {"event": "sample", "cpu_seconds": 0.5, "memory_bytes": 200 * 2**20, "processes": 3}
    work.report(sample)
    answer = client.get(asked(page))
    assert '<div id="device" hx-swap-oob="innerHTML">' in answer.content.decode()
    assert "Now: memory 200 MB of" in text(answer)
    Attempt.objects.update(leased_at=later(seconds=-6))
    submission.events.filter(kind="progress").update(at=later(seconds=-5))
    work.report({**sample, "cpu_seconds": 4.5, "memory_bytes": 260 * 2**20})
    more = client.get(asked(answer)).content.decode()
    assert 'id="device"' not in more
    assert re.search(r'<div id="d\d+-\d+-charts" hx-swap-oob="innerHTML">.*<polyline', more, flags=re.DOTALL)
    assert re.search(r'<div id="d\d+-\d+-numbers" hx-swap-oob="innerHTML"><table>', more)
    assert "<details" not in more


@pytest.mark.parametrize(
    "series",
    [
        None,
        7,
        [],
        [[]],
        [["a", "b", "c", "d"]],
        [[0, 0, float(10**300), 1]],
        [[1, 1, 1]],
        {"0": [0, 0, 0, 0]},
        [[True] * 4],
    ],
)
def test_a_series_that_is_none_draws_nothing(series):
    ada, demo, host = make_user("ada"), make_competition(), Host.register()
    submission = send(ada, demo, SCRIPT)
    drive()
    host.claim_next().finish(**{**TRAINED, "resources": {"series": series}})
    drive()
    response = page_of(ada, submission)
    assert response.status_code == 200
    assert "<svg" not in response.content.decode()
