"""Appending: links, order and what an entry may hold."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction

from leaderboard.ledger.models import Entry
from leaderboard.ledger.services import append, head, verify
from scoring.chain import GENESIS, entry_hash


@pytest.mark.django_db
def test_each_entry_holds_the_hash_of_the_one_before():
    first = append(kind="test", subject="a", data={"b": 1, "a": "é"})
    second = append(kind="test", subject="b", data={})
    assert (first.seq, first.prev_hash) == (1, GENESIS)
    assert (second.seq, second.prev_hash) == (2, first.hash)
    assert head() == (2, second.hash)
    assert first.data == '{"a":"é","b":1}'


@pytest.mark.django_db
def test_the_hash_can_be_recomputed_from_the_row_alone():
    append(kind="test", subject="a", data={"x": [1, 2.5, None, True]})
    row = Entry.objects.get()
    hashed = {"seq": 1, "at": row.at, "kind": "test", "subject": "a", "data": json.loads(row.data)}
    assert row.hash == entry_hash(GENESIS, hashed)


@pytest.mark.django_db
@pytest.mark.parametrize("value", [2**53, float("nan"), b"bytes"])
def test_what_has_no_canonical_form_is_refused(value):
    with pytest.raises(ValueError):  # noqa: PT011 - rfc8785 has one class per kind, and all are ValueErrors
        append(kind="test", subject="a", data={"value": value})
    assert head() == (0, GENESIS)


@pytest.mark.django_db(transaction=True)
def test_an_append_outside_a_transaction_is_refused():
    with pytest.raises(transaction.TransactionManagementError):
        append(kind="test", subject="a", data={})
    assert not Entry.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_an_entry_goes_with_its_transaction():
    with transaction.atomic():
        append(kind="test", subject="a", data={})
        transaction.set_rollback(True)
    assert head() == (0, GENESIS)
    assert not Entry.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_fifty_appends_at_once_make_one_unbroken_chain():
    def one(number: int) -> None:
        try:
            with transaction.atomic():
                append(kind="test", subject=str(number), data={"number": number})
        finally:
            connection.close()

    with ThreadPoolExecutor(50) as pool:
        list(pool.map(one, range(50)))
    assert set(Entry.objects.values_list("subject", flat=True)) == {str(number) for number in range(50)}
    assert list(Entry.objects.values_list("seq", flat=True)) == list(range(1, 51))
    assert verify().ok
