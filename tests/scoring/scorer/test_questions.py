"""What server P has been shown by the time it is asked."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from scoring.scorer.draw import Draw
from scoring.scorer.order import secret_batches
from scoring.scorer.questions import Batch, repeat_batches, strict_batches

LENGTH = 12


@st.composite
def draws(pick: st.DrawFn) -> tuple[list[Draw], int]:
    """Any positions of a shard of any size, several in a row and the same twice included."""
    rows = pick(st.integers(1, 60))
    place = st.tuples(st.integers(0, rows - 1), st.integers(0, LENGTH - 2))
    places = pick(st.lists(place, max_size=150))
    if pick(st.booleans()):  # every row
        places += [(row, row % (LENGTH - 1)) for row in range(rows)]
    return [Draw(row, cut, 1.0, row, 1) for row, cut in sorted(places)], rows


def stretch(row: int, cut: int | None) -> range:
    """Which tokens of the shard's stream a question shows."""
    return range(row * LENGTH, row * LENGTH + (LENGTH if cut is None else cut + 1))


def overlap(one: range, other: range) -> int:
    return max(0, min(one.stop, other.stop) - max(one.start, other.start))


def plan(drawn: tuple[list[Draw], int], size: int, seed: int) -> list[Batch]:
    return strict_batches(drawn[0], size, drawn[1], Random(seed))  # noqa: S311 repeatable


@given(draws(), st.integers(1, 9), st.integers(0, 2**32))
def test_what_follows_a_cut_was_never_shown_before_nor_beside(
    drawn: tuple[list[Draw], int], size: int, seed: int
) -> None:
    """Not in the row itself; and of the next row, which begins with this one's last target, only at ends of lanes."""
    shown: list[tuple[int, range]] = []
    early = set()
    for batch in plan(drawn, size, seed):
        present = [one for one in batch if one is not None]
        shown += [(one.row, stretch(one.row, one.cut)) for one in present]
        for one in present:
            assert one.cut is not None
            hidden = range(one.row * LENGTH + one.cut + 1, (one.row + 1) * LENGTH + 1)
            for row, seen in shown:
                leaked = overlap(seen, hidden)
                assert leaked <= (row == one.row + 1), (one, row)
                if leaked:
                    early.add(one.row)
    assert len(early) <= size


@given(draws(), st.integers(1, 9), st.integers(0, 2**32))
def test_every_draw_is_asked_once_and_adjacent_rows_never_meet(
    drawn: tuple[list[Draw], int], size: int, seed: int
) -> None:
    batches = plan(drawn, size, seed)
    questions = [one for batch in batches for one in batch if one is not None]
    assert sorted(one.draw for one in questions if one.draw is not None) == list(range(len(drawn[0])))
    assert all((drawn[0][one.draw].row, drawn[0][one.draw].cut) == (one.row, one.cut) for one in questions)  # type: ignore[index]
    for batch in batches:
        assert len(batch) == size
        rows = sorted(one.row for one in batch if one is not None)
        assert all(later - row > 1 for row, later in pairwise(rows))


def test_asking_every_row_takes_no_more_batches_than_scoring() -> None:
    even = [Draw(row, 3, 1.0, row, 1) for row in range(246)]
    assert len(plan((even, 246), 8, 1)) <= len(secret_batches(246, 8)) + 1


def test_ends_of_lanes_lie_elsewhere_every_time() -> None:
    even = [Draw(row, 3, 1.0, row, 1) for row in range(40)]
    firsts = {next(one.row for one in plan((even, 40), 1, seed)[0] if one) for seed in range(60)}
    assert len(firsts) > 20


@given(st.integers(1, 80), st.integers(1, 9), st.integers(0, 2**32), st.data())
def test_repeats_sit_elsewhere_and_never_beside_a_neighbour(
    rows: int, size: int, seed: int, data: st.DataObject
) -> None:
    random = Random(seed)  # noqa: S311 repeatable
    before = secret_batches(rows, size, random)
    places = {row: (b, slot) for b, batch in enumerate(before) for slot, row in enumerate(batch)}
    chosen = data.draw(st.lists(st.integers(0, rows - 1), unique=True))
    batches = repeat_batches(chosen, places, size, random)
    assert sorted(one.row for batch in batches for one in batch if one) == sorted(chosen)
    for batch in batches:
        present = [(slot, one.row) for slot, one in enumerate(batch) if one]
        assert all(places[row][1] != slot or size == 1 for slot, row in present)
        assert all(abs(a - b) != 1 for _, a in present for _, b in present)


def test_repeats_meet_other_rows_than_before() -> None:
    random = Random(5)  # noqa: S311 repeatable
    before = secret_batches(246, 8, random)
    places = {row: (b, slot) for b, batch in enumerate(before) for slot, row in enumerate(batch)}
    batches = repeat_batches(random.sample(range(246), 24), places, 8, random)
    met = [
        (places[a.row][0], places[b.row][0]) for batch in batches for a in batch for b in batch if a and b and a != b
    ]
    assert met
    assert all(one != other for one, other in met)


@pytest.mark.parametrize("cut", [0, 5, 10])
def test_what_is_hidden_is_replaced_by_dev_text_that_does_not_begin_alike(cut: int) -> None:
    from scoring.scorer.probe import hide
    from scoring.scorer.questions import Question
    from scoring.scorer.target import Rows

    tokens = torch.arange(3 * LENGTH + 1)
    rows = Rows(tokens, torch.ones(200, dtype=torch.int64), LENGTH, 199)
    dev = torch.tensor([100, 101, LENGTH + cut + 1, 103])  # one of them is the hidden token
    seen = {tuple(hide(rows, Question(1, cut, 0), dev, Random(seed)).tolist()) for seed in range(200)}  # noqa: S311
    assert {question[: cut + 1] for question in seen} == {tuple(range(LENGTH, LENGTH + cut + 1))}
    assert {question[cut + 1] for question in seen} == {100, 101, 103}
    assert {len(question) for question in seen} == {LENGTH}
