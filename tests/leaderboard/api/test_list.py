"""One's own submissions as a list: newest first, in pages that hold still while new ones come in."""

import pytest
from django.test import Client

from leaderboard.submissions.models import Submission
from tests.leaderboard.cast import SCRIPT, make_competition, make_team, make_user, token
from tests.leaderboard.host import Host, queue, send

pytestmark = pytest.mark.django_db(transaction=True)


def read(user, query=""):
    headers = {"Authorization": f"Bearer {token(user)}"} if user else {}
    return Client().get(f"/api/v1/submissions{query}", headers=headers)


def numbers(answer):
    return [row["id"] for row in answer.json()["submissions"]]


def test_a_list_is_the_teams_own_newest_first():
    demo, ada, bob, cleo = make_competition(), make_user("ada"), make_user("bob"), make_user("cleo")
    make_team(demo, ada, cleo)
    first, second = send(ada, demo), send(cleo, demo, SCRIPT + "# 2\n", note="wider")
    send(bob, demo)
    answer = read(ada)
    assert numbers(answer) == [second.pk, first.pk]
    assert answer.json()["next"] is None
    row = answer.json()["submissions"][0]
    assert (row["version"], row["team"], row["competition"], row["phase"]) == (2, "ada", "demo", "open")
    assert (row["state"], row["final"], row["note"], row["bpb"], row["url"]) == (
        "received", False, "wider", None, f"/submissions/{second.pk}",
    )  # fmt: skip
    assert numbers(read(make_user("dan"))) == []


def test_a_ranked_line_is_rounded_to_the_phases_step():
    ada = make_user()
    queue(send(ada, make_competition()))
    Host.register().run(bpb=2.0344912)
    answer = read(ada)
    row = answer.json()["submissions"][0]
    assert (row["state"], row["final"], row["bpb"], row["n"]) == ("ranked", True, 2.034, 1)
    assert "2.03449" not in answer.content.decode()


def test_pages_hold_still_while_new_ones_come_in():
    demo, ada = make_competition(), make_user()
    sent = [send(ada, demo, SCRIPT + f"# {number}\n").pk for number in range(5)]
    first = read(ada, "?limit=2")
    assert numbers(first) == [sent[4], sent[3]]
    send(ada, demo, SCRIPT + "# newer\n")
    second = read(ada, f"?limit=2&cursor={first.json()['next']}")
    assert numbers(second) == [sent[2], sent[1]]
    third = read(ada, f"?limit=2&cursor={second.json()['next']}")
    assert (numbers(third), third.json()["next"]) == ([sent[0]], None)


def test_a_list_is_narrowed_by_competition_and_state():
    demo, other, ada = make_competition(), make_competition("other"), make_user()
    here, there = send(ada, demo), send(ada, other)
    Submission.objects.filter(pk=there.pk).update(state="failed")
    assert numbers(read(ada, "?competition=demo")) == [here.pk]
    assert numbers(read(ada, "?state=failed")) == [there.pk]
    assert numbers(read(ada, "?competition=demo&state=failed")) == []


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("?state=won", 400, "bad_request"),
        ("?limit=0", 400, "bad_request"),
        ("?limit=101", 400, "bad_request"),
        ("?cursor=-1", 400, "bad_request"),
        (f"?cursor={2**63}", 400, "bad_request"),
        ("?cursor=soon", 400, "bad_request"),
        ("?competition=nope", 404, "unknown_competition"),
        ("?competition=%00", 404, "unknown_competition"),
    ],
)
def test_what_cannot_be_listed_is_one_sentence(query, status, code):
    answer = read(make_user(), query)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.json()["message"].endswith(".")


def test_a_stranger_has_no_list():
    assert (read(None).status_code, read(None).json()["code"]) == (401, "not_authenticated")


def test_a_page_costs_the_same_whatever_is_on_it(django_assert_max_num_queries):
    demo, ada = make_competition(), make_user()
    for number in range(8):
        send(ada, demo, SCRIPT + f"# {number}\n")
    with django_assert_max_num_queries(12):  # of which eight are to set the scene and write the token
        assert len(numbers(read(ada))) == 8
