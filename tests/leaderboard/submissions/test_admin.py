"""Bulk decisions in the admin: a reason is asked for on a page between, and all goes through the service."""

import pytest
from django.urls import reverse

from leaderboard.submissions import transitions
from leaderboard.submissions.models import Event, Submission
from tests.leaderboard.cast import make_competition, make_user
from tests.leaderboard.host import Host, queue, send
from tests.leaderboard.web.pages import browser, text

pytestmark = pytest.mark.django_db(transaction=True)
LIST = reverse("admin:submissions_submission_changelist")
EVIL = "<script>alert(1)</script>"


@pytest.fixture
def olga():
    return make_user("olga", organizer=True, is_superuser=True)


def reviewed(count):
    demo, chosen = make_competition(), []
    for _ in range(count):
        submission = send(make_user(), demo)
        transitions.start_audit(submission)
        transitions.ask_organizer(submission, code="K102", reason="K102 cli-flag, line 3")
        chosen.append(submission.pk)
    return chosen


def act(user, action, chosen, **more):
    fields = {"action": action, "_selected_action": chosen, **more}
    return browser(user).post(LIST, fields, follow=True)


def states():
    return list(Submission.objects.order_by("pk").values_list("state", flat=True))


def test_a_reason_is_asked_for_once_for_all_and_before_anything_happens(olga):
    chosen = reviewed(2)
    between = act(olga, "reject", chosen)
    assert "Reject: why?" in text(between)
    assert states() == ["in_review"] * 2
    fields = between.content.decode()
    assert all(f'name="_selected_action" value="{pk}"' in fields for pk in chosen)
    done = act(olga, "reject", chosen, reason="They are the same.")
    assert f"Submission {chosen[0]}: rejected." in text(done)
    assert states() == ["rejected"] * 2
    told = Event.objects.filter(data__action="reject", actor=olga)
    assert {event.message for event in told} == {"Rejected by an organizer: They are the same."}


def test_what_is_in_another_state_is_named_and_the_others_are_done(olga):
    chosen = reviewed(2)
    act(olga, "accept", chosen[:1])
    done = text(act(olga, "reject", chosen, reason="No."))
    assert f"Submission {chosen[0]}: olga has accepted it" in done
    assert states() == ["accepted", "rejected"]


def test_disqualify_reinstate_and_run_again(olga):
    submission = queue(send(make_user(), make_competition()))
    host = Host.register()
    host.run()
    for action, state in (("disqualify", "disqualified"), ("reinstate", "ranked")):
        act(olga, action, [submission.pk], reason="A reason.")
        assert states() == [state]
    Submission.objects.update(state="failed")
    submission.runs.update(state="failed")
    act(olga, "rerun", [submission.pk], reason="A reason.")
    assert states() == ["queued"]


def test_a_hostile_reason_is_text_and_a_bad_one_refused(olga):
    chosen = reviewed(1)
    assert "characters that cannot be printed" in text(act(olga, "reject", chosen, reason="\u202e"))
    act(olga, "reject", chosen, reason=EVIL)
    page = browser(olga).get(reverse("admin:submissions_event_changelist")).content.decode()
    assert "&lt;script&gt;alert" in page
    assert "<script>alert" not in page


def test_who_is_no_organizer_does_not_get_here():
    chosen = reviewed(1)
    assert "/admin/login/" in act(make_user("eve"), "accept", chosen).redirect_chain[-1][0]
    assert states() == ["in_review"]
