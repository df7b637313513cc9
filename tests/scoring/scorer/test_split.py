"""Documents dealt to train, dev, public and private."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scoring.scorer.documents import BuildError, Split, deal, read_jsonl
from tests.scoring.tiny import corpus


def dealt(texts: list[str], seed: int = 1, most_shared: float = 0.2, held_out_bytes: int = 3000) -> Split:
    return deal(texts, seed=seed, held_out_bytes=held_out_bytes, most_shared=most_shared, say=lambda _: None)


def test_no_document_is_in_two_places() -> None:
    split = dealt(corpus())
    groups = [split.train, *split.held_out.values()]
    texts = [text for group in groups for text in group]
    assert len(texts) == len(set(texts)) == len(corpus()) - split.unused
    assert all(sum(len(text.encode()) for text in group) >= 3000 for group in groups)


def test_the_split_is_the_seeds_and_not_the_orders() -> None:
    texts = corpus()
    assert dealt(texts) == dealt(texts[::-1])
    assert dealt(texts, seed=2).held_out["public"] != dealt(texts).held_out["public"]


def test_exact_repeats_are_removed_first() -> None:
    texts = corpus()
    split = dealt(texts + texts[:50])
    assert split.duplicates == 50
    assert split.train == dealt(texts).train


def test_a_held_out_document_that_was_mostly_in_training_text_is_dropped() -> None:
    texts = corpus()
    copies = [text + " and a word more" for text in texts[:200]]  # nearly the same document, elsewhere in the corpus
    split = dealt(texts + copies)
    kept = {text for group in split.held_out.values() for text in group}
    trained = set(split.train)
    assert split.dropped > 0
    assert not any(text.removesuffix(" and a word more") in trained for text in kept)
    assert not any(text + " and a word more" in trained for text in kept)


def test_near_copies_of_dev_are_not_sealed() -> None:
    texts = corpus()
    copies = [text + " and a word more" for text in texts[:200]]
    dev = set(dealt(texts + copies).held_out["dev"])
    for target in ("public", "private"):
        for text in dealt(texts + copies).held_out[target]:
            assert text.removesuffix(" and a word more") not in dev
            assert text + " and a word more" not in dev


def test_more_is_set_aside_where_most_candidates_overlap() -> None:
    texts = corpus(1500)
    split = dealt([text + f" copy {number}" for text in texts for number in range(3)], held_out_bytes=1000)
    assert all(sum(len(text.encode()) for text in group) >= 1000 for group in split.held_out.values())


def test_overlap_may_be_allowed() -> None:
    texts = corpus()
    assert dealt(texts + [text + " and a word more" for text in texts], most_shared=1.0).dropped == 0


@pytest.mark.parametrize("texts", [[], corpus()[:20]])
def test_too_small_a_corpus_is_refused(texts: list[str]) -> None:
    with pytest.raises(BuildError):
        dealt(texts)


@pytest.mark.parametrize("line", ["{", "[]", '{"words": "x"}', '{"text": 3}', '{"text": "\\ud800"}', "null"])
def test_a_line_that_is_no_document_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text(json.dumps({"text": "fine"}) + "\n" + line + "\n")
    with pytest.raises(BuildError, match=r"c\.jsonl, line 2"):
        read_jsonl(path)
