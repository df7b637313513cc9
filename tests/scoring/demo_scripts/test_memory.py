"""ngram.py's index gives what counting by hand gives."""

from __future__ import annotations

import random
from collections import Counter
from types import ModuleType

import numpy as np
import pytest
import torch

from tests.scoring.demo_scripts.conftest import Import
from tests.scoring.tiny import VOCAB


@pytest.fixture
def ngram(script: Import) -> ModuleType:
    return script("ngram.py")


def stream(count: int, letters: int, seed: int) -> list[int]:
    """Tokens with long repeats, as text has them; two of the letters are the vocabulary's ends."""
    draw = random.Random(seed)  # noqa: S311 the same tokens every time
    alphabet = [0, VOCAB - 1, *range(1, letters - 1)]
    tokens: list[int] = []
    while len(tokens) < count:
        start = draw.randrange(len(tokens) + 1)
        copied = tokens[start : start + draw.randint(0, 60)]
        tokens += copied + draw.choices(alphabet, k=draw.randint(1, 8))
    return tokens[:count]


def by_hand(text: list[int], context: list[int], padding: int) -> Counter[int]:
    """Count what follows a context, by looking at every place of the text."""
    padded, length = [0] * padding + text, len(context)
    return Counter(padded[i] for i in range(padding, len(padded)) if padded[i - length : i] == context)


def memory_of(ngram: ModuleType, text: list[int]) -> torch.nn.Module:
    memory: torch.nn.Module = ngram.Memory()
    memory.fill(np.array(text))
    return memory


def test_every_count_of_every_depth_is_the_one_counted_by_hand(
    ngram: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ngram, "SAMPLE", 1000)
    text = stream(700, 5, seed=1)
    rows = torch.tensor([text[100:140], stream(40, 5, seed=2), text[300:320] + stream(20, 6, seed=3)])
    seen_at = Counter[int]()
    for depth, (followed, kind) in zip(ngram.DEPTHS, memory_of(ngram, text)(rows), strict=True):
        for question, (row, last) in enumerate((row, last) for row in range(3) for last in range(40)):
            context = rows[row, last + 1 - depth : last + 1].tolist() if last + 1 >= depth else None
            counts = by_hand(text, context, max(ngram.DEPTHS)) if context else Counter[int]()
            total = counts.total()
            expected = torch.zeros(VOCAB)
            for token, count in counts.items():
                expected[token] = count / total
            assert torch.equal(followed[question], expected)
            assert kind[question].item() == (-(-ngram.KINDS * len(counts) // total) if total else 0)
            seen_at[depth] += total > 0
    assert all(seen_at[depth] > 10 for depth in ngram.DEPTHS), "every depth was asked for something that it had seen"


def test_of_many_places_a_sample_is_looked_at(ngram: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ngram, "SAMPLE", 16)
    text = stream(2000, 4, seed=4)
    rows = torch.tensor([text[500:530]])
    followed, kind = next(iter(memory_of(ngram, text)(rows)))
    for question in range(30):
        counts = by_hand(text, [text[500 + question]], max(ngram.DEPTHS))
        assert counts.total() > 100
        assert set(followed[question].nonzero().flatten().tolist()) <= set(counts)
        assert torch.equal(followed[question] * 16, (followed[question] * 16).round())
    assert torch.equal(followed.sum(1), torch.ones(30))
    assert int(kind.min()) >= 1


def test_the_sample_is_spread_evenly(ngram: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ngram, "SAMPLE", 16)
    followed, _ = next(iter(memory_of(ngram, [1, 5, 8] * 50 + [2, 5, 9] * 50)(torch.tensor([[5]]))))
    assert followed[0, [8, 9]].tolist() == [0.5, 0.5]


def test_places_are_sorted_by_the_tokens_before_them(ngram: ModuleType) -> None:
    text = np.array([0] * max(ngram.DEPTHS) + stream(400, 3, seed=5))
    order = ngram.sort_places(text)
    before = [text[place - max(ngram.DEPTHS) : place][::-1].tolist() for place in order]
    assert sorted(order.tolist()) == list(range(max(ngram.DEPTHS), len(text)))
    assert before == sorted(before)
