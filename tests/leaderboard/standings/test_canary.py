"""Nothing of the private shard shows before the release: not a digit, not a word, not that anything happened.

A recognisable score, text and host are put into hidden attempts. Every address of the site is read by everybody who
is not an organizer, before and after: the answers must be the same to the last byte.
"""

import logging

import pytest
from django.test import Client
from django.utils import timezone

from leaderboard.accounts.models import User
from leaderboard.ledger.models import Entry
from leaderboard.pipeline import private
from leaderboard.pipeline.reaper import reap
from leaderboard.runs.models import Agent, Attempt, Receipt, Score
from leaderboard.standings.queries import board
from tests.leaderboard.cast import make_competition, make_user
from tests.leaderboard.hidden import an_hour_passes, asked, close, rank
from tests.leaderboard.host import Host, drive
from tests.leaderboard.walk import addresses, read

pytestmark = pytest.mark.django_db(transaction=True)

BPB, CORRECTION = 7.123456789, 0.03141592653
WORD = "canary-finch"
QUERIES = (
    "",
    "?shard=private&open={pk}&run=1&page=1",
    "?run=0&offset=0&after=0&attempt=1&was=running&seen=0&report=0&log=0",
)


@pytest.fixture
def scene():
    """A closed phase in which ada's team and bob's stand, ada's inside the cut."""
    host, demo = Host.register(), make_competition(advance=1)
    own = rank(host, demo, 2.0, user=make_user("ada"))
    rank(host, demo, 2.5, user=make_user("bob"))
    make_competition("another").organizers.add(make_user("olga"))
    return close(own.phase), own, host


def score_unseen(phase, host):
    """Score everything hidden, with a canary wherever a host can say something; one team's model fails."""
    Agent.objects.update(name=WORD)
    private.look_at(phase)
    works = asked(host)
    assert len(works) == 3
    for work in works:
        work.report({"event": "sample", "cpu_seconds": 7.123456789, "memory_bytes": 7_123_456, "processes": 7})
        work.log(0, f"{WORD} 7.123456789\n".encode())
        attempt = Attempt.objects.select_related("run__submission__team").get(pk=work.attempt)
        if attempt.run.submission.author.username == "bob":
            assert work.finish("load_failed", detail=f"ValueError: {WORD}").status_code == 200
        else:
            assert work.finish(bpb=BPB, correction=(CORRECTION, 0.001), detail=WORD).status_code == 200
    drive()
    reap()


def canaries():
    """Return what must be nowhere: exact, rounded to the phase's step and coarser, nats, hashes, text."""
    score = Score.objects.get(shard="private")
    numbers = (score.bpb, score.published_bpb, score.correction, score.total_nats)
    texts = [f"{number:.{digits}f}" for number in numbers[:2] for digits in (2, 3, 4, 6)]
    hidden = Receipt.objects.filter(attempt__hidden=True)
    texts += [repr(number)[:8] for number in numbers]
    return {*texts, WORD, "7.123", "7,123,456", *hidden.values_list("sha256", flat=True)}


def walk(client, own, hidden):
    """Return every address's answer, for the ids of own submission and of attempts that are hidden or about to be."""
    name, slug = own.phase.competition.slug, own.phase.slug
    values = {"competition": [name], "slug": [name], "phase": [slug], "app_label": ["runs"]}
    values |= {"pk": [own.pk], "number": [own.pk], "id": [own.pk], "content_type_id": [own.pk]}
    values |= {"object_id": hidden, "attempt_id": hidden}
    values |= {"code": ["K101"], "key": ["nothing"], "uidb36": ["nothing"], "left": ["nothing"], "url": ["nothing"]}
    answers = {}
    for address in addresses(**values):
        queries = ("",) if address.startswith(("/admin/", "/accounts/")) else QUERIES
        answers |= read(client, address, tuple(query.format(pk=own.pk) for query in queries))
    return answers


def people(*names):
    """Return a stranger's client and those of people."""
    clients = {"stranger": Client()}
    for name in names:
        clients[name] = Client()
        clients[name].force_login(User.objects.get(username=name))
    return clients


def test_no_address_tells_anybody_that_the_private_shard_was_scored(scene, monkeypatch, caplog):
    phase, own, host = scene
    now, newest = timezone.now(), Attempt.objects.order_by("-pk").first().pk
    coming = [newest + 1, newest + 2, newest + 3]
    clients = people("ada", "bob", "olga")  # own team, another one, organizer of something else
    caplog.set_level(logging.DEBUG)
    with monkeypatch.context() as clock:
        clock.setattr(timezone, "now", lambda: now)
        before = {name: walk(client, own, coming) for name, client in clients.items()}
    score_unseen(phase, host)
    assert list(Attempt.objects.filter(hidden=True).order_by("pk").values_list("pk", flat=True)) == coming
    with monkeypatch.context() as clock:
        clock.setattr(timezone, "now", lambda: now)
        after = {name: walk(client, own, coming) for name, client in clients.items()}
    for name in clients:
        assert len(before[name]) > 200
        for address, text in before[name].items():
            assert after[name][address] == text, (name, address)
    an_hour_passes()
    reap()
    assert Entry.objects.filter(kind="private.committed").exists()
    told = canaries()
    for name in ("stranger", "ada"):
        for address, text in walk(clients[name], own, coming).items():
            assert not [each for each in told if each in text], (name, address)
    assert not [each for each in told if each in caplog.text]


def test_no_page_of_the_admin_tells_it_to_anybody_whatever_their_rights(scene):
    phase, own, host = scene
    make_user("root", organizer=True, is_superuser=True)
    score_unseen(phase, host)
    an_hour_passes()
    reap()
    told = canaries() - {WORD}  # the agent's name is in the admin's list of agents
    coming = [row.pk for row in Attempt.objects.filter(hidden=True)]
    rows = [*coming, *Score.objects.values_list("pk", flat=True), *Receipt.objects.values_list("pk", flat=True)]
    client = people("root")["root"]
    seen = {}
    for table in ("attempt", "receipt", "score", "run", "agent"):
        base = f"/admin/runs/{table}/"
        for address in (base, f"{base}?q={own.pk}", f"{base}?shard=private", f"{base}?hidden__exact=1"):
            seen |= read(client, address, ("",))
        for row in sorted(set(rows)):
            seen |= read(client, f"{base}{row}/change/", ("",))
    lists = [text for address, text in seen.items() if "change" not in address]
    assert sum(text.startswith("200") for text in lists) >= 10
    for address, text in seen.items():
        assert not [each for each in told if each in text], address
    assert ">private<" not in seen["/admin/runs/attempt/"]
    assert not [pk for pk in coming if f"/admin/runs/attempt/{pk}/change/" in seen["/admin/runs/attempt/"]]


def test_the_private_board_shows_organizers_what_the_canary_is(scene):
    phase, _, host = scene
    score_unseen(phase, host)
    make_user("boss", organizer=True)
    told = board(phase, "private", User.objects.get(username="boss")).to_json()
    assert [(row["bpb"], row["outcome"]) for row in told["rows"]] == [
        (7.157, ""),
        (None, "failed on the private shard"),
    ]
