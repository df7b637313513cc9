"""The cut of a shard into rows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring import bpb


@given(st.integers(0, 3000), st.integers(1, 400))
def test_every_token_after_the_first_is_a_target_exactly_once(tokens: int, seq_len: int) -> None:
    targets: list[int] = []
    for row in range(bpb.row_count(tokens, seq_len)):
        start, stop = bpb.row_bounds(row, tokens, seq_len)
        assert stop - start <= seq_len
        targets += range(start + 1, stop + 1)
    assert targets == list(range(1, tokens))


def test_only_the_last_row_is_short() -> None:
    assert [bpb.row_bounds(row, 21, 8) for row in range(bpb.row_count(21, 8))] == [(0, 8), (8, 16), (16, 20)]


@pytest.mark.parametrize("row", [-1, 3])
def test_there_are_no_rows_outside_the_stream(row: int) -> None:
    with pytest.raises(IndexError):
        bpb.row_bounds(row, 21, 8)


def test_a_row_has_a_length() -> None:
    with pytest.raises(ValueError, match="at least one"):
        bpb.row_count(10, 0)
