"""Shared word 13-grams."""

from __future__ import annotations

from scoring.scorer.overlap import Overlap, grams, measure, report

WORDS = [f"w{number}" for number in range(100)]


def text(start: int, stop: int) -> str:
    return " ".join(WORDS[start:stop])


def test_grams_are_runs_of_thirteen_words_whatever_stands_between() -> None:
    assert list(grams("A, b. C! d e f g h i j k l m n")) == [tuple("abcdefghijklm"), tuple("bcdefghijklmn")]


def test_a_short_text_is_one_gram_and_an_empty_one_none() -> None:
    assert list(grams("only Three words")) == [("only", "three", "words")]
    assert list(grams(" … ")) == []


def test_shares_are_counted_by_place() -> None:
    held_out = [text(0, 33), text(40, 60), ""]  # 21 grams, 8 grams, none
    other = [text(70, 99), text(0, 23)]  # the second holds the first 11 grams
    assert measure(held_out, other) == [Overlap(21, 11, 1, 11), Overlap(8, 0, -1, 0), Overlap(0, 0, -1, 0)]
    assert [round(overlap.share, 3) for overlap in measure(held_out, other)] == [0.524, 0.0, 0.0]


def test_the_nearest_document_is_the_one_that_shares_most() -> None:
    overlap = measure([text(0, 40)], [text(0, 14), text(14, 40)])[0]
    assert (overlap.nearest, overlap.nearest_shared, overlap.shared) == (1, 14, 16)


def test_the_report_counts_every_candidate_and_shows_no_text() -> None:
    overlaps = measure([text(0, 33), text(40, 60), text(0, 20)], [text(0, 23)])
    said = report(overlaps, 0.2)
    assert sum(row["documents"] for row in said["table"]) == 3
    assert said["shared_before"] == (11 + 8) / (21 + 8 + 8)
    assert [pair["share"] for pair in said["worst"]] == [1.0, 0.5238]
    assert "w1" not in str(said)
