"""Who is kin to whom in the database: what is found, what is not counted, and the line that follows from it."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from leaderboard.competitions.models import Policy
from leaderboard.pipeline import kin, reaper, tasks
from leaderboard.submissions import kinship
from leaderboard.submissions.models import Fingerprint, Kin, Mark, Report, Submission
from reviewer.similarity import INDEXED, MOST_MARKS
from tests.bench.bench_audit import LAYER, script
from tests.leaderboard.cast import POLICY, SCRIPT, later, make_competition, make_user
from tests.leaderboard.host import drive, send, take

pytestmark = pytest.mark.django_db(transaction=True)
WORK = script(layers=4, knobs=0)
COPY = re.sub(r"\bturn", "spin", WORK).replace("schedule", "plan").replace("0.5", "0.25").replace("width", "w")
MORE = WORK + "".join(f"\n\ndef extra{i}(a, b):\n    return [a[{i}:] + b for _ in range({i})]\n" for i in range(9))


def sent(user, demo, text, inner=None):
    """Send a script and take its fingerprint, as its audit would; `inner` is what it carried packed."""
    submission = send(user, demo, text)
    list(take("platform"))
    kin.take(submission, {"unpacked": [{"text": inner}] if inner else []})
    return submission


def pairs():
    return [
        (each.earlier_id, each.later_id, each.relation, round(each.share, 2)) for each in Kin.objects.order_by("pk")
    ]


def test_copies_are_found_by_bytes_by_code_and_by_pieces():
    demo = make_competition()
    first = sent(make_user(), demo, WORK)
    same, renamed, grown = (sent(make_user(), demo, text) for text in (WORK, COPY, MORE))
    found = {(a, b): relation for a, b, relation, _ in pairs()}
    assert found[first.pk, same.pk] == "bytes"
    assert found[first.pk, renamed.pk] == found[same.pk, renamed.pk] == "code"
    assert found[first.pk, grown.pk] == found[renamed.pk, grown.pk] == "near"
    assert len(found) == 6


def test_another_competition_is_another_world():
    sent(make_user(), make_competition(), WORK)
    sent(make_user(), make_competition(), WORK)
    assert pairs() == []


def test_what_stands_in_the_baseline_is_not_counted():
    demo = make_competition(policy={**POLICY, "baseline": WORK})
    plain = sent(make_user(), demo, COPY)
    sent(make_user(), demo, WORK)
    sent(make_user(), demo, WORK + "x = 1\n")
    assert Fingerprint.objects.get(submission=plain).plain
    assert (pairs(), Mark.objects.count()) == ([], 0)
    own = [sent(make_user(), demo, MORE) for _ in range(2)]
    assert pairs() == [(own[0].pk, own[1].pk, "bytes", 1.0)]


def test_the_baseline_of_the_phase_is_known_by_its_hash_once_somebody_has_sent_it():
    import hashlib

    demo = make_competition(probes={"baseline": "x", "baseline_sha256": hashlib.sha256(WORK.encode()).hexdigest()})
    sent(make_user(), demo, WORK)
    sent(make_user(), demo, COPY)
    assert pairs() == []


def test_frozen_sections_are_not_counted():
    accepted = [{"name": "a", "date": "2026-01-01", "text": LAYER.format(i=1, heads=2)}]
    demo = make_competition(policy={**POLICY, "sections": [{"name": "L", "banner": "L", "accepted": accepted}]})
    sent(make_user(), demo, LAYER.format(i=1, heads=2) + "x = 1\n")
    sent(make_user(), demo, LAYER.format(i=1, heads=2) + "\ndef f(x):\n    return x\n")
    assert pairs() == []


def test_a_packed_script_is_kin_by_what_it_carries():
    demo = make_competition()
    first = sent(make_user(), demo, WORK)
    packed = sent(make_user(), demo, "exec('…')", inner=COPY)
    assert pairs() == [(first.pk, packed.pk, "code", 1.0)]


def test_what_cannot_be_read_is_kin_to_the_same_bytes_alone_and_is_not_tried_for_ever():
    demo = make_competition()
    first = sent(make_user(), demo, "x = (")
    odd = sent(make_user(), demo, b"\xff\xfe")
    assert pairs() == []
    assert Fingerprint.objects.get(submission=odd).linked
    again = sent(make_user(), demo, "x = (")
    assert pairs() == [(first.pk, again.pk, "bytes", 1.0)]


def test_what_the_host_does_to_a_fingerprint_is_tried_again(monkeypatch):
    demo = make_competition()
    first = sent(make_user(), demo, WORK)
    with monkeypatch.context() as broken:
        broken.setattr("reviewer.similarity._WALL_SECONDS", 0.0)
        second = sent(make_user(), demo, WORK)
    assert not Fingerprint.objects.filter(submission=second).exists()
    kin.take(second, {})
    assert pairs() == [(first.pk, second.pk, "bytes", 1.0)]


def test_two_that_are_kept_at_the_same_moment_find_each_other(monkeypatch):
    demo = make_competition()
    later_one = send(make_user(), demo, WORK)
    link = kinship.link
    first = []

    def both(submission, made):
        if not first:  # while one looks for its kin, another was sent before it and is kept only now
            first.append(submission)
            kin.take(later_two, {})
        link(submission, made)

    later_two = send(make_user(), demo, COPY)
    monkeypatch.setattr(kinship, "link", both)
    kin.take(later_one, {})
    assert pairs() == [(later_one.pk, later_two.pk, "code", 1.0)]


def test_a_fingerprint_is_bounded():
    demo = make_competition()
    big = script(layers=60, knobs=3)
    one = Fingerprint.objects.get(submission=sent(make_user(), demo, big))
    marks = kinship.numbers(one.marks)
    assert list(marks) == sorted(set(marks))
    assert len(marks) <= MOST_MARKS
    assert Mark.objects.count() <= INDEXED


def test_the_closest_of_a_large_family_are_kept_and_the_own_team_crowds_nobody_out():
    demo, ada = make_competition(quota={"submissions": 100}), make_user("ada")
    stranger = sent(make_user("bob"), demo, COPY)
    for number in range(kinship.KEPT + 3):
        newest = sent(ada, demo, WORK + f"x = {number}\n" + "def f(x):\n    return x\n" * number)
    mine = Kin.objects.filter(later=newest)
    assert mine.count() == kinship.KEPT + 1
    assert mine.filter(earlier=stranger).exists()


def test_finding_kin_asks_the_database_as_often_however_many_there_are():
    demo = make_competition()

    def asked(text):
        submission = send(make_user(), demo, text)
        with CaptureQueriesContext(connection) as queries:
            kin.take(submission, {})
        return len(queries)

    few = asked(WORK)
    for number in range(6):
        sent(make_user(), demo, WORK + f"\ndef g{number}():\n    return 1\n" * number)
    assert asked(MORE) <= few + 2  # links are written, where there were none


def test_the_line_of_descent_names_the_closest_before_each():
    demo, ada = make_competition(), make_user("ada")
    root = sent(ada, demo, WORK)
    stranger = sent(make_user("bob"), demo, "x = 1\n")
    copy = sent(make_user("cleo"), demo, COPY)
    grown = sent(ada, demo, MORE)
    for about in (root, copy, grown):
        line = kinship.line_of(about)
        assert [step.submission for step in line] == [root, copy, grown]
        assert [step.closest for step in line] == [None, root, root]
        assert [step.same_team for step in line] == [s.team_id == about.team_id for s in (root, copy, grown)]
        assert line[1].words == "the same code but for names and constants"
        assert line[2].words.endswith("% of the same code")
    assert kinship.line_of(stranger) == []
    assert kinship.descendants(root) == [copy.pk, grown.pk]
    assert kinship.ancestors(grown) == [root.pk, copy.pk]


def test_descent_goes_over_several_steps():
    demo = make_competition()
    a, b, c = (sent(make_user(), demo, f"x = {n}\n") for n in range(3))
    Kin.objects.all().delete()
    for earlier, later_one in ((a, b), (b, c)):
        Kin.objects.create(earlier=earlier, later=later_one, relation="near", share=0.6)
    assert kinship.descendants(a) == [b.pk, c.pk]
    assert kinship.ancestors(c) == [a.pk, b.pk]
    assert [step.closest for step in kinship.line_of(c)] == [None, a, b]


def test_the_audit_takes_the_fingerprint_and_the_reaper_what_was_left():
    demo = make_competition()
    first = send(make_user(), demo, SCRIPT)
    drive()
    assert Fingerprint.objects.filter(submission=first, linked=True).exists()
    Fingerprint.objects.all().delete()
    Kin.objects.all().delete()
    list(take("platform"))
    reaper.find_kin()
    assert list(take("platform")) == []  # the audit itself may be about to do it
    Report.objects.update(created=later(minutes=-2))
    reaper.find_kin()
    assert drive() == ["pipeline.kinship"]
    assert Fingerprint.objects.get().submission == first
    reaper.find_kin()
    assert list(take("platform")) == []


def test_a_fingerprint_that_fails_stops_no_audit(monkeypatch):
    def broken(*_):
        raise RuntimeError("the disk is full")

    monkeypatch.setattr(kinship, "keep", broken)
    submission = send(make_user(), make_competition(), SCRIPT)
    drive()
    submission.refresh_from_db()
    assert (submission.state, submission.reports.count()) == ("queued", 1)


def test_a_link_that_was_cut_short_is_made_up_for(monkeypatch):
    demo = make_competition()
    first = sent(make_user(), demo, WORK)
    second = send(make_user(), demo, COPY)

    def killed(*_):
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(kinship, "link", killed)
        kin.take(second, {})
    Report.objects.create(submission=second, verdict="accept", ruleset="1", body={})
    assert (pairs(), kinship.missing(Report.objects.all())) == ([], [second.pk])
    tasks.kinship(second.pk)
    assert pairs() == [(first.pk, second.pk, "code", 1.0)]
    assert kinship.missing(Report.objects.all()) == []


def test_a_fingerprint_that_was_made_in_an_older_way_is_made_again():
    demo = make_competition()
    first, second = sent(make_user(), demo, WORK), sent(make_user(), demo, COPY)
    before = Fingerprint.objects.get(submission=first)
    Report.objects.create(submission=first, verdict="accept", ruleset="1", body={})
    Fingerprint.objects.filter(submission=first).update(version=1, marks=b"", code_sha256="old")
    Mark.objects.filter(submission=first).update(value=7)
    assert kinship.missing(Report.objects.filter(submission=first)) == [first.pk]
    tasks.kinship(first.pk)
    after = Fingerprint.objects.get(submission=first)
    assert (bytes(after.marks), after.code_sha256, after.linked) == (bytes(before.marks), before.code_sha256, True)
    assert not Mark.objects.filter(submission=first, value=7).exists()
    assert kinship.missing(Report.objects.filter(submission=first)) == []
    assert pairs() == [(first.pk, second.pk, "code", 1.0)]


def test_a_policy_that_cannot_be_read_any_more_is_for_the_reaper():
    demo = make_competition()
    submission = send(make_user(), demo, WORK)
    Policy.objects.update(body={"colour": 1})
    kin.take(Submission.objects.get(pk=submission.pk), {})
    assert not Fingerprint.objects.exists()
