"""A ledger whose triggers were taken away and whose rows were changed is found out."""

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from leaderboard.ledger import triggers
from leaderboard.ledger.models import Entry
from leaderboard.ledger.services import append, verify

pytestmark = pytest.mark.django_db
HASH_OF_3 = "UPDATE ledger_head SET hash = (SELECT hash FROM ledger_entry WHERE seq = 3)"


@pytest.fixture
def four_entries():
    """Four entries, and no triggers in the way of who tampers with them."""
    for number in range(1, 5):
        append(kind="test", subject=f"s{number}", data={"number": number})
    triggers.drop(connection)
    yield
    triggers.create(connection)


@pytest.mark.parametrize(
    ("tamper", "broken", "why"),
    [
        ("UPDATE ledger_entry SET data = '{\"number\":7}' WHERE seq = 2", 2, "content"),
        ("UPDATE ledger_entry SET data = '{\"number\": 2}' WHERE seq = 2", 2, "content"),
        ("UPDATE ledger_entry SET data = 'no JSON' WHERE seq = 2", 2, "content"),
        ("UPDATE ledger_entry SET at = '2026-01-01' WHERE seq = 3", 3, "content"),
        ("UPDATE ledger_entry SET kind = 'other' WHERE seq = 1", 1, "content"),
        ("UPDATE ledger_entry SET subject = 'other' WHERE seq = 4", 4, "content"),
        ("UPDATE ledger_entry SET prev_hash = hash WHERE seq = 3", 3, "previous hash"),
        ("DELETE FROM ledger_entry WHERE seq = 3", 3, "missing"),
        ("DELETE FROM ledger_entry WHERE seq = 4", 4, "missing: the head stands at entry 4"),
        (HASH_OF_3 + ", seq = 3", 4, "head stands before it"),
        (HASH_OF_3, 4, "not the one at which the head stood"),
    ],
)
def test_the_first_broken_link_is_named(four_entries, tamper, broken, why):
    connection.cursor().execute(tamper)
    verdict = verify()
    assert verdict.broken == broken
    assert why in verdict.why
    with pytest.raises(CommandError, match=f"broken at entry {broken}"):
        call_command("ledger", "verify")


def test_a_link_rehashed_in_place_breaks_the_next(four_entries):
    from scoring.chain import entry_hash

    entry = Entry.objects.get(seq=2)
    entry.data = '{"number":7}'
    hashed = {"seq": 2, "at": entry.at, "kind": entry.kind, "subject": entry.subject, "data": {"number": 7}}
    entry.hash = entry_hash(entry.prev_hash, hashed)
    entry.save()
    assert verify().broken == 3


def test_the_command_says_where_a_whole_chain_stands(capsys):
    append(kind="test", subject="a", data={})
    call_command("ledger", "verify")
    assert "The ledger is whole: 1 entries, head 1 " in capsys.readouterr().out
