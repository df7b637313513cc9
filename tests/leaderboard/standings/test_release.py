"""`manage.py release`: a preview that changes nothing, and a release of exactly what the preview showed."""

import json
import re

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from leaderboard.competitions.models import Phase
from leaderboard.ledger.models import Entry
from leaderboard.ledger.services import verify
from leaderboard.pipeline import private
from leaderboard.runs.models import HiddenResult
from leaderboard.standings.commitments import commitment_of
from leaderboard.standings.preview import preview
from leaderboard.submissions.models import Submission
from leaderboard.submissions.services import withdraw
from tests.leaderboard.cast import later, make_competition, make_phase, make_user
from tests.leaderboard.hidden import an_hour_passes, asked, close, rank, score_hidden
from tests.leaderboard.host import drive, queue, send

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def ready(host):
    """Two teams scored on both shards, one of them inside the cut."""
    demo = make_competition(advance=1)
    first = rank(host, demo, 2.0)
    second = rank(host, demo, 2.5)
    phase = close(first.phase)
    score_hidden(host, {first.pk: 1.875, second.pk: 1.75}, phase)
    return phase, first, second


def say(capsys, *words):
    call_command("release", *words)
    return capsys.readouterr().out


def digest_of(text):
    return re.search(r"--confirm ([0-9a-f]{64})", text)[1]


def everything():
    return {model._meta.label: list(model.objects.order_by("pk").values()) for model in apps.get_models()}


def test_the_preview_shows_what_would_be_published_and_changes_nothing(ready, capsys):
    before = everything()
    text = say(capsys, "demo/open")
    assert everything() == before
    assert "Private scores: 2 in, 0 failed, 0 missing." in text
    assert "probed again at ten times the power: 1 clean." in text
    _, first, second = ready
    lines = [line.split() for line in text.splitlines() if f"({first.pk})" in line or f"({second.pk})" in line]
    assert [line[:4] for line in lines] == [["1", "2", "+1", "1.750"], ["2", "1", "-1", "1.875"]]
    assert digest_of(text) == digest_of(say(capsys, "demo/open"))


def test_a_release_opens_what_was_committed_to_and_says_who_released_what(ready, boss, capsys):
    phase, first, second = ready
    an_hour_passes()
    private.look_at(phase)
    committed = json.loads(Entry.objects.get(kind="private.committed").data)["commitments"]
    digest = digest_of(say(capsys, "demo/open"))
    say(capsys, "demo/open", "--confirm", digest, "--by", "boss")
    entry = Entry.objects.get(kind="phase.released")
    data = json.loads(entry.data)
    assert (entry.subject, data["actor"], data["digest"]) == (f"phase:{phase.pk}", boss.pk, digest)
    assert (data["order"], data["failed"]) == ([second.pk, first.pk], [])
    assert {str(opening["run"]): commitment_of(opening) for opening in data["openings"]} == committed
    assert [opening["bpb"] for opening in data["openings"]] == [1.875, 1.75]
    assert Phase.objects.get(pk=phase.pk).released_at is not None
    assert verify().ok


def test_what_nobody_has_committed_to_yet_is_committed_to_at_the_release(ready, boss, capsys):
    say(capsys, "demo/open", "--confirm", digest_of(say(capsys, "demo/open")), "--by", "boss")
    kinds = list(Entry.objects.order_by("-seq").values_list("kind", flat=True)[:2])
    assert kinds == ["phase.released", "private.committed"]
    assert not HiddenResult.objects.filter(shard="private", entry=None).exists()


def refused(capsys, *words):
    before = everything()
    with pytest.raises(CommandError) as caught:
        call_command("release", *words)
    assert everything() == before
    return str(caught.value)


def test_only_an_organizer_releases(ready, boss, capsys):
    digest = digest_of(say(capsys, "demo/open"))
    make_user("mallory")
    assert "Only an organizer" in refused(capsys, "demo/open", "--confirm", digest, "--by", "mallory")
    assert "--by USERNAME" in refused(capsys, "demo/open", "--confirm", digest)
    assert "no phase called" in refused(capsys, "demo/shut", "--confirm", digest, "--by", "boss")


def test_an_organizer_of_the_competition_need_not_be_staff(ready, capsys):
    phase, *_ = ready
    olga = make_user("olga")
    phase.competition.organizers.add(olga)
    say(capsys, "demo/open", "--confirm", digest_of(say(capsys, "demo/open")), "--by", "olga")
    assert Phase.objects.get(pk=phase.pk).released_at is not None


def test_it_is_released_once(ready, boss, capsys):
    digest = digest_of(say(capsys, "demo/open"))
    say(capsys, "demo/open", "--confirm", digest, "--by", "boss")
    assert "It was released on" in refused(capsys, "demo/open", "--confirm", digest, "--by", "boss")
    assert "It was released on" in say(capsys, "demo/open")


def test_a_preview_is_stale_once_somebody_withdraws(ready, boss, host, capsys):
    _, first, second = ready
    digest = digest_of(say(capsys, "demo/open"))
    withdraw(user=second.author, submission=second)
    assert "changed since that preview" in refused(capsys, "demo/open", "--confirm", digest, "--by", "boss")
    say(capsys, "demo/open", "--confirm", digest_of(say(capsys, "demo/open")), "--by", "boss")
    assert json.loads(Entry.objects.get(kind="phase.released").data)["order"] == [first.pk]


def test_a_preview_is_stale_once_the_phases_rules_open_something_else(ready, boss, capsys):
    phase, *_ = ready
    before = say(capsys, "demo/open")
    assert "Opens to everybody, of every version on the board: scripts, logs, findings, seeds, receipts." in before
    spec = phase.spec | {"visibility": phase.spec["visibility"] | {"logs": "never"}}
    Phase.objects.filter(pk=phase.pk).update(spec=spec)
    assert "changed since" in refused(capsys, "demo/open", "--confirm", digest_of(before), "--by", "boss")
    assert "Never opens: logs." in say(capsys, "demo/open")


def test_a_preview_is_stale_once_anything_of_a_row_has_changed(ready, boss, capsys):
    _, first, _ = ready
    before = digest_of(say(capsys, "demo/open"))
    Submission.objects.filter(pk=first.pk).update(note="another note")
    assert "changed since" in refused(capsys, "demo/open", "--confirm", before, "--by", "boss")


def test_the_preview_says_which_phases_still_score_on_these_shards(ready, capsys):
    phase, *_ = ready
    assert "No other phase scores on these shards" in say(capsys, "demo/open")
    make_phase(phase.competition, "final")
    assert "still to be scored on in demo/final:" in say(capsys, "demo/open")


def test_a_preview_takes_the_same_queries_however_many_entries_there_are(host, django_assert_num_queries):
    demo = make_competition(advance=5)
    first = rank(host, demo, 2.0)
    phase = close(first.phase)
    with CaptureQueriesContext(connection) as alone:
        preview(phase)
    few = len(alone)  # counted now: a request forgets them
    Phase.objects.update(closes=later(days=1))
    for bpb in (2.1, 2.2, 2.3):
        rank(host, demo, bpb)
    phase = close(phase)
    with django_assert_num_queries(few):
        assert len(preview(phase).again) == 4


def test_an_open_phase_is_not_released_and_the_sentence_says_how_to_end_it(host, boss, capsys):
    rank(host, make_competition(), 2.0)
    text = say(capsys, "demo/open")
    assert "set `closes` of the phase in the competition file" in text
    assert "--confirm" not in text
    assert "It is open until" in refused(capsys, "demo/open", "--confirm", "0" * 64, "--by", "boss")


def test_what_is_missing_blocks_it_and_is_named(host, boss, capsys):
    demo = make_competition(advance=1)
    first = rank(host, demo, 2.0)
    phase = close(first.phase)
    text = say(capsys, "demo/open")
    assert "1 private score is missing" in text
    assert "1 entry inside the cut is not probed again yet" in text
    private.look_at(phase)
    for work in asked(host):
        work.finish("host_fault")
    assert f"submission {first.pk}, run 1, private: try 1 ended with host_fault" in say(capsys, "demo/open")
    assert "missing" in refused(capsys, "demo/open", "--confirm", "0" * 64, "--by", "boss")


def test_what_is_still_on_its_way_blocks_it(host, boss, capsys):
    demo = make_competition(advance=0)
    queue(send(make_user(), demo))
    close(demo.phases.get())
    assert "1 submission is not at an end yet" in say(capsys, "demo/open")


def test_a_breach_inside_the_cut_is_told_and_is_for_the_organizer_to_decide(host, boss, capsys):
    demo = make_competition(advance=1)
    first = rank(host, demo, 2.0)
    phase = close(first.phase)
    private.look_at(phase)
    for work in asked(host):
        again = work.job["shards"]["target"] == "public"
        work.finish("breach" if again else "ok", bpb=1.5)
    drive()
    text = say(capsys, "demo/open")
    assert "1 breach" in text
    assert f"submission {first.pk} breached" in text
    assert "--confirm" in text
