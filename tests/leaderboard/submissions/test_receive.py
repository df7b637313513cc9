"""What an upload is refused for, each with one clear sentence, and what it leaves when it is taken."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Thread

import pytest
from django.db import connection, transaction

from leaderboard.accounts.models import Team
from leaderboard.competitions.models import Phase
from leaderboard.core.errors import Refusal
from leaderboard.submissions.models import QuotaEntry, State, Submission
from leaderboard.submissions.services import receive
from tests.leaderboard.cast import SCRIPT, later, make_competition, make_phase, make_user
from tests.leaderboard.host import send, take

pytestmark = pytest.mark.django_db(transaction=True)


def refusal(**upload):
    with pytest.raises(Refusal) as caught:
        receive(**{"phase_slug": "open", "script": SCRIPT.encode(), **upload})
    return caught.value


def test_an_upload_holds_a_place_and_asks_for_its_audit_by_id():
    submission = send(make_user(), make_competition(), note="  counts of pairs ")
    assert (submission.state, submission.version, submission.note) == ("received", 1, "counts of pairs")
    assert submission.launch == "python train.py"
    assert bytes(Submission.objects.get().script) == SCRIPT.encode()
    assert [entry.kind for entry in QuotaEntry.objects.all()] == ["hold"]
    assert list(take("platform")) == [("pipeline.audit", [submission.pk])]


def test_versions_count_within_team_and_phase():
    demo, ada, bob = make_competition(), make_user(), make_user()
    make_phase(demo, "final")
    assert [send(ada, demo, f"# {n}").version for n in range(3)] == [1, 2, 3]
    assert send(bob, demo).version == 1
    assert send(ada, demo, phase="final").version == 1


def test_unknown_names_are_told_apart_and_the_phases_are_listed():
    demo, ada = make_competition(), make_user()
    no_phase = refusal(user=ada, competition_slug=demo.slug, phase_slug="finale")
    assert (no_phase.code, no_phase.status) == ("unknown_phase", 404)
    assert no_phase.message == "demo has no phase called 'finale', only: open."
    assert "no competition called 'demon'" in refusal(user=ada, competition_slug="demon").message


def test_a_phase_that_is_not_open_says_when():
    demo, ada = make_competition(opens=later(days=1)), make_user()
    make_phase(demo, "past", opens=later(days=-2), closes=later(days=-1))
    upcoming = refusal(user=ada, competition_slug=demo.slug)
    assert (upcoming.code, upcoming.status) == ("phase_upcoming", 409)
    assert f"{demo.phases.first().opens:%Y-%m-%d}" in upcoming.message
    closed = refusal(user=ada, competition_slug=demo.slug, phase_slug="past")
    assert (closed.code, closed.status) == ("phase_closed", 409)


def test_a_script_over_the_phases_limit_is_too_large_and_one_at_the_limit_is_not():
    demo, ada = make_competition(limits={"script_bytes": 100}), make_user()
    too_large = refusal(user=ada, competition_slug=demo.slug, script=b"#" * 101)
    assert (too_large.code, too_large.status, too_large.data["limit"]) == ("too_large", 413, 100)
    assert send(ada, demo, b"#" * 100).pk


def test_a_bad_launch_and_a_bad_note_are_refused_before_anything_is_kept():
    demo, ada = make_competition(), make_user()
    assert refusal(user=ada, competition_slug=demo.slug, launch="rm -rf .").code == "bad_launch"
    for note in ("x" * 201, "two\nlines", "bell\a"):
        assert refusal(user=ada, competition_slug=demo.slug, note=note).code == "bad_note"
    assert not Submission.objects.exists()


def test_a_duplicate_names_the_earlier_one_however_its_launch_is_spaced():
    demo, ada = make_competition(), make_user()
    first = send(ada, demo)
    again = refusal(user=ada, competition_slug=demo.slug, launch="python   train.py")
    two = "torchrun --standalone --nproc_per_node=2 train.py"
    assert (again.code, again.status) == ("duplicate", 409)
    assert (again.data["submission"], again.data["version"]) == (first.pk, 1)
    assert f"version 1 (submission {first.pk}, received)" in again.message
    assert send(ada, demo, launch=two).version == 2
    for same in ("torchrun --nproc-per-node 2 train.py", f"torchrun --standalone {two.partition(' ')[2]}"):
        assert refusal(user=ada, competition_slug=demo.slug, launch=same).code == "duplicate"
    assert send(make_user(), demo).version == 1


@pytest.mark.parametrize("end", ["rejected", "withdrawn", "failed", "errored"])
def test_what_ended_without_a_score_may_be_sent_again(end):
    demo, ada = make_competition(), make_user()
    first = send(ada, demo)
    Submission.objects.filter(pk=first.pk).update(state=end, deadline=None)
    assert send(ada, demo).version == 2


def test_a_full_window_names_the_next_slot():
    demo, ada = make_competition(quota={"submissions": 1}), make_user()
    send(ada, demo)
    full = refusal(user=ada, competition_slug=demo.slug, script=b"# another")
    assert (full.code, full.status, full.data["used"], full.data["limit"]) == ("quota", 429, 1, 1)
    assert full.data["next_slot"][:10] in full.message


def test_of_fifty_uploads_at_once_at_the_limit_exactly_one_enters():
    demo, ada = make_competition(quota={"submissions": 1}), make_user()

    def upload(number):
        try:
            return send(ada, demo, f"# {number}").state
        except Refusal as no:
            return no.code
        finally:
            connection.close()

    with ThreadPoolExecutor(50) as crowd:
        ends = sorted(crowd.map(upload, range(50)))
    assert ends == ["quota"] * 49 + ["received"]
    assert QuotaEntry.objects.count() == Submission.objects.count() == 1


def test_of_fifty_same_uploads_at_once_one_enters_and_the_others_are_duplicates():
    demo, ada = make_competition(), make_user()

    def upload(_):
        try:
            return send(ada, demo).state
        except Refusal as no:
            return no.code
        finally:
            connection.close()

    with ThreadPoolExecutor(50) as crowd:
        assert sorted(crowd.map(upload, range(50))) == ["duplicate"] * 49 + ["received"]


def test_a_broker_that_is_down_loses_nothing(broker_is_down, caplog):
    demo, ada = make_competition(), make_user()
    submission = send(ada, demo)
    assert "was not sent" in caplog.text
    assert Submission.objects.get(pk=submission.pk).state == State.RECEIVED
    assert submission.deadline - submission.changed == timedelta(seconds=5)


def test_an_upload_is_judged_by_the_rules_that_hold_when_it_enters():
    demo, ada = make_competition(), make_user()
    said = []

    def upload():
        try:
            said.append(send(ada, demo).state)
        except Refusal as no:
            said.append(no.code)
        finally:
            connection.close()

    waiting = Thread(target=upload)
    with transaction.atomic():  # as the load of a competition file does it
        phase = Phase.objects.select_for_update().get()
        Phase.objects.filter(pk=phase.pk).update(closes=later(seconds=-1))
        waiting.start()
        waiting.join(0.5)
        assert waiting.is_alive()  # it waits for the load
    waiting.join(30)
    assert said == ["phase_closed"]
    assert not Submission.objects.exists()


def test_a_refused_upload_leaves_no_team():
    demo, ada = make_competition(), make_user()
    assert refusal(user=ada, competition_slug=demo.slug, launch="rm -rf .").code == "bad_launch"
    assert not Team.objects.exists()


def test_the_first_upload_marks_its_phase_once():
    demo, ada = make_competition(), make_user()
    make_phase(demo, "final")
    first = send(ada, demo)
    send(ada, demo, "# another")
    assert [phase.first_upload for phase in demo.phases.all()] == [first.changed, None]
