"""Nobody changes an entry, raw SQL included."""

import pytest
from django.db import DatabaseError, connection, transaction

from leaderboard.ledger.models import Entry
from leaderboard.ledger.services import append, verify

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE ledger_entry SET data = '{}'",
        "UPDATE ledger_entry SET seq = seq + 1 WHERE seq = 2",
        "DELETE FROM ledger_entry",
        "DELETE FROM ledger_entry WHERE seq = 2",
    ],
)
def test_raw_sql_is_refused(statement):
    append(kind="test", subject="a", data={"x": 1})
    append(kind="test", subject="b", data={"x": 2})
    with pytest.raises(DatabaseError, match="never changed or removed"), transaction.atomic():
        connection.cursor().execute(statement)
    assert Entry.objects.count() == 2
    assert verify().ok


def test_the_orm_is_refused():
    entry = append(kind="test", subject="a", data={})
    entry.kind = "other"
    with pytest.raises(DatabaseError), transaction.atomic():
        entry.save()
    with pytest.raises(DatabaseError), transaction.atomic():
        entry.delete()
