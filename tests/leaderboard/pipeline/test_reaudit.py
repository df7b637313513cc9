"""A change of rules reads the archive again: shown first, kept when asked, and no standing moves by itself."""

import io
import json
from functools import cache

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

import reviewer
from leaderboard.competitions.models import Policy
from leaderboard.ledger import services as ledger
from leaderboard.ledger.models import Entry
from leaderboard.pipeline import reaudit
from leaderboard.standings.queries import board
from leaderboard.submissions import reaudits, secondlook
from leaderboard.submissions.models import Event, Report, SecondLook, Submission
from reviewer.report import RULESET
from tests.leaderboard.cast import KNOBS, SCRIPT, make_competition, make_phase, make_user
from tests.leaderboard.host import drive, each_audit_ends_by, send, take

pytestmark = pytest.mark.django_db(transaction=True)
NET = SCRIPT.replace("import torch\n", "import requests\nimport torch\n", 1)
FLAGS = SCRIPT.replace("import torch\n", "import sys\n\nimport torch\n", 1).replace(
    "range(3)", "range(int(sys.argv[1]))"
)
MILD = {"rules": {"K101": "warn"}}
STRICT = {"rules": {"K101": "reject"}, "allow_imports": ["requests"]}


@pytest.fixture
def olga():
    return make_user("olga", organizer=True)


@cache
def first_report(script):
    return reviewer.review(script, reviewer.Policy.from_mapping(MILD), launch=reviewer.LaunchFacts(), isolated=False)


@pytest.fixture
def demo():
    """A competition with a knob on the board, a plain one that waits for a host, and one that was rejected."""
    demo = make_competition(policy=MILD)
    for number, (script, state) in enumerate(((KNOBS, "ranked"), (SCRIPT, "queued"), (NET, "rejected"))):
        submission = send(make_user(f"user{number}"), demo, script)
        found = first_report(script)
        assert (found.verdict == "reject") == (state == "rejected")
        Report.objects.create(submission=submission, verdict=found.verdict, ruleset=found.ruleset, body=found.to_json())
        now = timezone.now()
        Submission.objects.filter(pk=submission.pk).update(state=state, mean_bpb=2.0, n_scores=1, ranked_at=now)
    list(take("platform"))
    Policy.objects.create(competition=demo, number=2, body=STRICT)
    return demo


def run(*words, **options):
    out, err = io.StringIO(), io.StringIO()
    call_command("reaudit", "demo", *map(str, words), stdout=out, stderr=err, **options)
    return out.getvalue()


def refused(*words):
    before = traces()
    with pytest.raises(CommandError) as caught:
        run(*words)
    assert traces() == before
    assert str(caught.value).count("\n") == 0
    return str(caught.value)


def traces():
    return (
        Report.objects.count(),
        Event.objects.count(),
        Entry.objects.count(),
        SecondLook.objects.count(),
        list(Submission.objects.order_by("pk").values_list("state", "reason", "policy")),
    )


def test_without_apply_it_is_shown_and_nothing_is_written(demo):
    before = traces()
    said = run()
    knobs, _, net = Submission.objects.order_by("pk")
    assert traces() == before
    assert said.startswith(f"demo: 3 to read under policy 2 and ruleset {RULESET}.\n")
    assert "v1 of user0, open, ranked: accept → reject  K101 warn → reject · for a second look" in said
    assert "v1 of user2, open, rejected: reject → accept  -D301 · can be reinstated" in said
    assert "user1" not in said
    assert "3 read: 1 as before, 0 with other findings.\n" in said
    assert "  accept → reject: 1 (1 ranked)\n  reject → accept: 1 (1 rejected)\n" in said
    assert f"1 would be opened for a second look, and nothing else of them changes: {knobs.pk}.\n" in said
    assert f"an organizer can reinstate them, once that is applied: {net.pk}.\n" in said
    assert said.endswith("Nothing has been written. To keep these reports, add --apply.\n")
    assert "v1 of user1, open, queued: accept\n" in run(verbosity=2)


def test_with_apply_the_reports_are_kept_and_a_stricter_one_asks_for_a_look_and_moves_nothing(demo, olga):
    phase = demo.phases.get()
    states, rows = list(Submission.objects.values_list("pk", "state", "policy").order_by("pk")), board(phase).rows
    assert len(rows) == 1
    said = run("--apply", "--by", "olga")
    assert list(Submission.objects.values_list("pk", "state", "policy").order_by("pk")) == states
    assert board(phase).rows == rows
    knobs, plain, net = Submission.objects.order_by("pk")
    assert f"1 opened for a second look, and nothing else of them changes: {knobs.pk}.\n" in said
    assert f"an organizer can reinstate them: {net.pk}.\n" in said
    newest = Policy.objects.get(number=2)
    for each, verdict in ((knobs, "reject"), (plain, "accept"), (net, "accept")):
        old, new = each.reports.order_by("pk")
        assert (old.policy, new.policy, new.verdict, new.ruleset) == (None, newest, verdict, RULESET)
        assert new.body["script_sha256"] == each.script_sha256
        event = each.events.filter(kind="report").get()
        assert (event.actor, event.state) == (olga, each.state)
        assert event.data == {"report": new.pk, "policy": 2, "ruleset": RULESET, "verdict": verdict}
    (look,) = secondlook.open_looks(demo)
    assert (look.submission, look.because_of, look.report, look.opened_by) == (
        knobs,
        None,
        knobs.reports.latest(),
        olga,
    )
    assert [event.message for event in knobs.events.order_by("-pk")[:2]] == [
        secondlook.OPENED,
        f"Read again under policy 2 and ruleset {RULESET}: the audit rejects it; it stays as it is.",
    ]
    assert plain.events.last().message.endswith("the audit lets it pass, as before.")
    entries = Entry.objects.filter(subject=f"submission:{knobs.pk}").order_by("-seq")[:2]
    assert [entry.kind for entry in entries] == ["submission.reopened", "submission.reaudited"]
    assert json.loads(entries[1].data) == {
        "actor": olga.pk,
        "from": "accept",
        "policy": 2,
        "report": knobs.reports.latest().pk,
        "rules": {"K101": "reject"},
        "ruleset": RULESET,
        "state": "ranked",
        "to": "reject",
    }
    assert ledger.verify().ok


def test_a_second_round_does_nothing(demo):
    run("--apply")
    before = traces()
    said = run("--apply")
    assert traces() == before
    assert said.startswith(f"demo: 0 to read under policy 2 and ruleset {RULESET}; 3 were read under that already.\n")
    secondlook.SecondLook.objects.update(closed=timezone.now())  # an organizer has looked
    run("--apply")
    assert not secondlook.open_looks(demo).exists()


@pytest.mark.parametrize("blow", ["between", "half way"])
def test_what_was_interrupted_goes_on_where_it_was(demo, monkeypatch, blow):
    place = (reviewer, "review") if blow == "between" else (secondlook, "open_because_of")
    whole, calls = getattr(*place), []

    def once(*args, **options):
        calls.append(args)
        if len(calls) == (2 if blow == "between" else 1):
            raise KeyboardInterrupt
        return whole(*args, **options)

    before = traces()
    with monkeypatch.context() as patch:
        patch.setattr(*place, once)
        with pytest.raises(CommandError, match="Stopped") as caught:
            run("--apply")
    assert caught.value.returncode == 130
    assert Report.objects.count() == (4 if blow == "between" else 3)
    if blow == "half way":
        assert traces() == before
    assert ("2 to read" if blow == "between" else "3 to read") in run("--apply")
    assert Report.objects.count() == 6
    assert SecondLook.objects.count() == 1
    assert Event.objects.filter(kind="report").count() == 3
    assert ledger.verify().ok


def test_it_walks_in_steps_and_keeps_to_the_phases_that_are_named(demo, monkeypatch):
    monkeypatch.setattr(reaudit, "AT_ONCE", 1)
    make_phase(demo, "other")
    own = send(make_user("zoe"), demo, "x = 1\n", phase="other")
    drive()
    assert "3 to read under policy 2" in run()  # it was sent under that
    Policy.objects.create(competition=demo, number=3, body={})
    assert "4 to read under policy 3" in run()
    assert "1 to read" in (said := run("--phase", "other"))
    assert "1 read: 1 as before" in said
    run("--phase", "other", "--apply")
    assert [report.submission for report in Report.objects.filter(policy__number=3)] == [own]
    run("--apply")
    assert Report.objects.count() == 8


def test_a_new_ruleset_reads_each_under_the_policy_that_it_was_read_under(demo):
    knobs, plain, _ = Submission.objects.order_by("pk")
    assert "0 to read under the policy that it was last read under" in run("--ruleset")
    for each, finding in ((knobs, "K101"), (plain, "S401")):
        body = {"verdict": "accept", "findings": [{"rule": finding, "severity": "warn"}], "policy": "1"}
        Report.objects.create(submission=each, verdict="accept", ruleset="0", body=body)
    said = run("--ruleset", "--apply")
    assert "2 to read under the policy that it was last read under" in said
    assert "v1 of user1, open, queued: accept  -S401\n" in said
    assert knobs.reports.latest().policy.number == 1
    assert not SecondLook.objects.exists()
    assert "0 to read" in run("--ruleset")


def test_a_policy_of_a_file_is_tried_and_not_written_before_it_is_loaded(demo, tmp_path):
    file = tmp_path / "policy.toml"
    file.write_text('preset = "time-budget"\n[rules]\nK101 = "info"\n')
    before = traces()
    said = run("--policy", file)
    assert "3 to read under the policy of the file, which is not the competition's" in said
    assert "ranked: accept  K101 warn → info\n" in said
    assert said.endswith("Nothing has been written.\n")
    assert traces() == before
    assert refused("--policy", file, "--apply").startswith("--apply needs a policy of the competition: load ")
    file.write_text('allow_imports = ["requests"]\n')  # the newest policy in other words
    assert "under policy 2 and" in run("--policy", file)
    run("--policy", file, "--apply")
    assert Report.objects.filter(policy__number=2).count() == 3


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--policy", "nowhere.toml"), "nowhere.toml cannot be read"),
        (("--policy", "{bad}"), "policy.rules.K999: there is no such rule"),
        (("--policy", "{bad}", "--ruleset"), "not allowed with argument"),
        (("--phase", "none"), "demo has no phase called 'none'"),
        (("--apply", "--by", "user0"), "'user0' is no organizer of demo"),
        (("--apply", "--by", "nobody"), "'nobody' is no organizer of demo"),
    ],
)
def test_bad_input_gets_one_sentence(demo, tmp_path, words, sentence):
    (tmp_path / "bad.toml").write_text('[policy.rules]\nK999 = "off"\n')
    assert sentence in refused(*(word.format(bad=tmp_path / "bad.toml") for word in words))


def test_a_competition_that_there_is_not_is_named():
    make_competition("spring")
    with pytest.raises(CommandError, match=r"no competition called 'demo'; there are: spring\."):
        run()


def test_a_host_that_cannot_audit_says_so_and_writes_nothing(demo, monkeypatch):
    with monkeypatch.context() as host:
        each_audit_ends_by(host, "SIGKILL")
        assert "Audits do not run on this host" in refused("--apply")
        assert "1 could not be read" not in refused("--apply")
    assert "3 to read" in run("--apply")


def test_one_that_could_not_be_read_is_left_for_the_next_round(demo, monkeypatch):
    whole, calls = reviewer.review, []

    def fails_once(*args, **options):
        calls.append(args)
        if len(calls) == 1:
            raise reviewer.ReviewerFault("no memory")
        return whole(*args, **options)

    monkeypatch.setattr(reviewer, "review", fails_once)
    with pytest.raises(CommandError, match="1 could not be read"):
        run("--apply")
    assert "1 to read" in run("--apply")


def test_what_the_pipeline_has_yet_to_read_and_what_was_taken_back_are_left_alone(demo):
    _, plain, _ = Submission.objects.order_by("pk")
    send(make_user("late"), demo, "x = 2\n")
    Submission.objects.filter(pk=plain.pk).update(state="withdrawn")
    assert "2 to read" in run("--apply")
    assert plain.reports.count() == 1


def test_of_two_rounds_at_once_one_keeps_its_report(demo):
    knobs = Submission.objects.order_by("pk").select_related("policy").first()
    before, policy = knobs.reports.latest(), Policy.objects.get(number=2)
    found = reviewer.review(bytes(knobs.script), reviewer.Policy.from_mapping(policy.body))
    assert reaudits.keep(knobs, before, found, policy)
    after = traces()
    assert reaudits.keep(knobs, before, found, policy) is None
    assert traces() == after


def test_one_that_left_meanwhile_gets_no_look(demo):
    knobs = Submission.objects.order_by("pk").first()
    before, policy = knobs.reports.latest(), Policy.objects.get(number=2)
    found = reviewer.review(bytes(knobs.script), reviewer.Policy.from_mapping(policy.body))
    Submission.objects.filter(pk=knobs.pk).update(state="disqualified")
    kept = reaudits.keep(knobs, before, found, policy)
    assert (kept.look, SecondLook.objects.count()) == (False, 0)
    Submission.objects.filter(pk=knobs.pk).update(state="withdrawn")
    assert reaudits.keep(knobs, kept.report, found, policy) is None


@pytest.mark.parametrize(
    ("then", "now", "stricter"),
    [
        ({}, {"K101": "reject"}, True),
        ({}, {"K102": "review"}, True),
        ({}, {"K105": "warn"}, False),
        ({"K102": "review"}, {"K102": "review"}, False),  # an organizer has read that, and accepted it
        ({"K102": "review"}, {"K102": "reject"}, True),
        ({"K102": "review"}, {"D305": "review"}, True),
        ({"K101": "reject"}, {"K101": "review"}, False),
        ({"K101": "reject"}, {}, False),
    ],
)
def test_stricter_is_what_a_rule_now_stops_or_asks_that_it_did_not(then, now, stricter):
    bodies = ({"findings": [{"rule": r, "severity": s} for r, s in each.items()]} for each in (then, now))
    assert reaudits.compare(*bodies).stricter is stricter


def test_a_look_that_is_open_already_gets_the_report_as_well(demo, olga):
    knobs, plain, _ = Submission.objects.order_by("pk")
    SecondLook.objects.create(submission=knobs, because_of=plain, opened=timezone.now(), opened_by=olga)
    run("--apply")
    look = SecondLook.objects.get()
    assert (look.because_of, look.report) == (plain, knobs.reports.latest())
    secondlook.keep(organizer=olga, submission=knobs)
    assert secondlook.open_look(knobs) is None


def test_what_is_read_as_the_pipeline_reads_it_has_its_launch_and_the_version_before_it(demo):
    user = make_user("ada")
    send(user, demo, FLAGS.replace("argv[1]", "argv[2]"))
    drive()
    second = send(user, demo, FLAGS, launch="torchrun --standalone --nproc_per_node=2 train.py")
    drive()
    first = second.reports.get().body
    assert "T904" in {finding["rule"] for finding in first["findings"]}
    assert first["drift"]
    Policy.objects.create(competition=demo, number=3, body={})
    run("--apply")
    again = second.reports.latest().body
    assert again["drift"] == first["drift"]
    assert "T904" in {finding["rule"] for finding in again["findings"]}
