"""The triggers that make the table of entries append-only for everybody, raw SQL included.

They stop mistakes and application bugs. Whoever owns the database can drop them; that is what the chain of hashes, and
the head that travels in exports and answers, are for.
"""

from django.db.backends.base.base import BaseDatabaseWrapper

REFUSAL = "ledger entries are never changed or removed"

_CREATE = {
    "sqlite": (
        f"CREATE TRIGGER ledger_entry_no_update BEFORE UPDATE ON ledger_entry "
        f"BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END",
        f"CREATE TRIGGER ledger_entry_no_delete BEFORE DELETE ON ledger_entry "
        f"BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END",
    ),
    "postgresql": (
        f"CREATE FUNCTION ledger_entry_refuse() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{REFUSAL}' USING ERRCODE = 'restrict_violation'; END $$",
        "CREATE TRIGGER ledger_entry_no_change BEFORE UPDATE OR DELETE ON ledger_entry "
        "FOR EACH ROW EXECUTE FUNCTION ledger_entry_refuse()",
        "CREATE TRIGGER ledger_entry_no_truncate BEFORE TRUNCATE ON ledger_entry "
        "FOR EACH STATEMENT EXECUTE FUNCTION ledger_entry_refuse()",
    ),
}
_DROP = {
    "sqlite": ("DROP TRIGGER ledger_entry_no_update", "DROP TRIGGER ledger_entry_no_delete"),
    "postgresql": (
        "DROP TRIGGER ledger_entry_no_change ON ledger_entry",
        "DROP TRIGGER ledger_entry_no_truncate ON ledger_entry",
        "DROP FUNCTION ledger_entry_refuse()",
    ),
}


def create(connection: BaseDatabaseWrapper) -> None:
    """Add the triggers. Raises KeyError on a database that has none here: a ledger without them is not one."""
    _execute(connection, _CREATE[connection.vendor])


def drop(connection: BaseDatabaseWrapper) -> None:
    """Remove the triggers: when the migration is undone, and between tests."""
    _execute(connection, _DROP[connection.vendor])


def _execute(connection: BaseDatabaseWrapper, statements: tuple[str, ...]) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
