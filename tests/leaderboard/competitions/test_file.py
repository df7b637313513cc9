"""Loading a competition file: once, again, and changed."""

import json
from hashlib import sha256

import pytest
from django.core.management import call_command

from leaderboard.competitions import files
from leaderboard.competitions.models import Competition, Kit, Phase, Policy
from leaderboard.competitions.seeds import seed_for
from leaderboard.competitions.services import note_upload
from leaderboard.env import PROJECT
from leaderboard.ledger.models import Entry
from leaderboard.ledger.services import verify
from leaderboard.submissions.models import Submission
from tests.leaderboard.cast import later, make_shards, make_team
from tests.leaderboard.competitions.conftest import TEXT, edit

pytestmark = pytest.mark.django_db


def submit(competition: Competition) -> None:
    phase = competition.phases.first()
    Submission.objects.create(
        phase=phase,
        team=make_team(competition),
        version=1,
        kit=competition.kit,
        policy=competition.policies.get(),
        script=b"pass",
        script_sha256="0" * 64,
        launch="python train.py",
        launch_spec={},
        changed=later(),
    )
    note_upload(phase, later())


def test_the_file_becomes_a_competition(file):
    spring = files.load(file)
    one, two = spring.phases.all()
    assert (spring.title, spring.shards.name, spring.policies.get().number) == ("Spring", "demo", 1)
    assert (one.slug, one.rules.runs, one.rules.budget.seconds, one.rules.timezone) == ("one", 3, 60, "Europe/Berlin")
    assert two.rules.runs == 1
    assert one.closes.isoformat() == "2026-01-31T23:00:00+00:00"
    assert seed_for(one, "a" * 64, 0) != seed_for(two, "a" * 64, 0)


def test_what_can_change_a_standing_is_on_the_ledger_before_anything_runs(file):
    spring = files.load(file)
    entries = {entry.kind + entry.subject: json.loads(entry.data) for entry in Entry.objects.all()}
    whole = entries[f"competition.publishedcompetition:{spring.pk}"]
    manifest = spring.shards.manifest
    assert whole["public_commitment"] == manifest["public"]["commitment"]
    assert whole["private_commitment"] == manifest["private"]["commitment"]
    assert whole["kit_sha256"] == spring.kit.sha256
    assert whole["file_sha256"] == sha256(TEXT.encode()).hexdigest()
    assert len(whole["policy_sha256"]) == 64
    for phase in spring.phases.all():
        assert entries[f"phase.publishedphase:{phase.pk}"]["seed_commitment"] == phase.seed_commitment
    assert verify().ok


def test_loading_again_changes_nothing(file):
    first = files.publish(file)
    rows = Entry.objects.count()
    seed = seed_for(first.competition.phases.first(), "a" * 64, 0)
    again = files.publish(file)
    assert (again.competition, again.changes) == (first.competition, ())
    assert Entry.objects.count() == rows
    assert (Competition.objects.count(), Phase.objects.count(), Policy.objects.count(), Kit.objects.count()) == (
        1,
        2,
        1,
        1,
    )
    assert seed_for(again.competition.phases.first(), "a" * 64, 0) == seed


def test_a_shipped_file_does_not_take_back_what_an_organizer_loaded(file, capsys):
    call_command("competition", "load", str(file), "--unless-there")
    edit(file, 'title = "Spring"', 'title = "Autumn"')
    call_command("competition", "load", str(file), "--unless-there")
    assert Competition.objects.get().title == "Spring"
    assert "competition load" in capsys.readouterr().out.splitlines()[-1]
    call_command("competition", "load", str(file))
    assert Competition.objects.get().title == "Autumn"


def test_a_comment_is_no_change(file):
    files.load(file)
    rows = Entry.objects.count()
    file.write_text("# hello\n" + TEXT)
    assert files.publish(file).changes == ()
    assert Entry.objects.count() == rows


@pytest.mark.parametrize(
    ("old", "new", "changes", "entries"),
    [
        ('"reject"', '"review"', ("policy 2",), 1),
        ('title = "Spring"', 'title = "Autumn"', ("title",), 1),
        ("closes = 2026-03-01", "closes = 2026-04-01", ("phase two: closes",), 1),
        ("seconds = 60", "seconds = 61", ("phase one: spec",), 1),
        ("runs = 3", "runs = 3\nquota = { submissions = 2 }", ("phase one: spec",), 1),
    ],
)
def test_a_change_is_applied_and_recorded(file, old, new, changes, entries):
    files.load(file)
    rows = Entry.objects.count()
    edit(file, old, new)
    assert files.publish(file).changes == changes
    assert Entry.objects.count() == rows + entries
    assert files.publish(file).changes == ()


def test_a_kit_with_other_content_is_another_kit(file):
    before = files.load(file).kit
    (file.parent / "kit" / "prepare.py").write_text("# a better kit\n")
    edit(file, 'version = "1"', 'version = "2"')
    published = files.publish(file)
    assert published.changes == ("kit",)
    assert published.competition.kit.sha256 != before.sha256


def test_a_phase_that_nobody_used_can_go(file):
    files.load(file)
    file.write_text(TEXT[: TEXT.rindex("[[phases]]")])
    assert files.publish(file).changes == ("phase two removed",)
    assert [phase.slug for phase in Phase.objects.all()] == ["one"]


@pytest.mark.parametrize(
    ("old", "new", "line", "key"),
    [
        ("seconds = 60", "seconds = 61", 24, "phases[0].budget.seconds"),
        ("threads = 2", "threads = 1", 25, "phases[0].budget.threads"),
        ("runs = 3", "runs = 2", 22, "phases[0].runs"),
        ("runs = 3", "runs = 3\nevaluation = { seq_len = 128 }", 23, "phases[0].evaluation.seq_len"),
        ('slug = "one"', 'slug = "uno"', 16, "phases"),
        ('set = "demo"', 'set = "other"', 5, "shards.set"),
    ],
)
def test_what_runs_have_in_common_stays_once_there_are_submissions(file, old, new, line, key):
    make_shards("other")
    submit(files.load(file))
    edit(file, old, new)
    rows = Entry.objects.count()
    with pytest.raises(files.CompetitionFileError) as refused:
        files.load(file)
    assert f"{file}:{line}: {key}: " in str(refused.value)
    assert "submissions" in str(refused.value)
    assert Entry.objects.count() == rows


def test_the_rest_may_change_under_submissions(file):
    submit(files.load(file))
    edit(file, "runs = 3", "runs = 3\nadvance = 5\nquota = { submissions = 2 }")
    edit(file, "closes = 2026-02-01T00:00:00+01:00", "closes = 2026-01-31T00:00:00Z")
    assert files.publish(file).changes == ("phase one: closes, spec",)


def test_the_command_says_what_changed(file, capsys):
    call_command("competition", "load", str(file))
    call_command("competition", "load", str(file))
    first, second = capsys.readouterr().out.splitlines()
    assert first == "Competition spring: new, with policy 1; phase one; phase two."
    assert second == "Competition spring: changed nothing, it was loaded before."


def test_the_shipped_competition_loads():
    make_shards("demo")
    demo = files.load(PROJECT / "deploy" / "demo" / "competition.toml")
    opened, final = demo.phases.all()
    budget = opened.rules.budget
    assert (opened.state(), final.state()) == ("open", "upcoming")
    assert (budget.seconds, budget.startup_cap_seconds, budget.excluded_steps, budget.threads) == (60, 30, 2, 2)
    assert (opened.rules.runs, opened.rules.rounding, opened.rules.advance) == (1, 0.001, 10)
    assert (opened.rules.quota.submissions, opened.rules.quota.per) == (20, "day")
