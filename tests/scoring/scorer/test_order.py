"""The secret order of rows."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from scoring.scorer.order import secret_batches


@given(st.integers(0, 90), st.integers(1, 40), st.integers(0, 2**32))
def test_every_row_is_asked_once_and_never_beside_its_neighbour(rows: int, size: int, seed: int) -> None:
    batches = secret_batches(rows, size, Random(seed))  # noqa: S311 repeatable
    assert sorted(row for batch in batches for row in batch) == list(range(rows))
    assert all(len(batch) <= size for batch in batches)
    assert all(abs(a - b) != 1 for batch in batches for a in batch for b in batch)


def test_no_more_batches_are_asked_than_rows_need() -> None:
    assert len(secret_batches(250, 8)) == 32
    assert len(secret_batches(7, 8)) == 2  # one would seat neighbours together
    assert secret_batches(1, 8) == [[0]]


def test_two_orders_differ() -> None:
    assert secret_batches(200, 8) != secret_batches(200, 8)


def test_a_row_goes_to_any_batch_and_any_slot() -> None:
    places = {(batch, slot) for seed in range(300) for batch, slot in _places_of_row_3(seed)}
    assert places == {(batch, slot) for batch in range(4) for slot in range(4)}


def _places_of_row_3(seed: int) -> list[tuple[int, int]]:
    batches = secret_batches(16, 4, Random(seed))  # noqa: S311 repeatable
    return [(index, batch.index(3)) for index, batch in enumerate(batches) if 3 in batch]
