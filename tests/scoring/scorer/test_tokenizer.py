"""The frozen tokenizer."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, normalizers

from scoring.scorer import tokenizer
from scoring.scorer.documents import BuildError
from tests.scoring.tiny import corpus

BPE = tokenizer.train(corpus(), 300)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=80)


@settings(deadline=None)
@given(TEXTS)
def test_any_text_comes_back_and_its_bytes_are_counted(text: str) -> None:
    tokenizer.prove_round_trip(BPE, [text], "dev")
    lengths = tokenizer.byte_lengths(BPE)
    ids = BPE.encode(text, add_special_tokens=False).ids
    assert sum(lengths[token] for token in ids) == len(text.encode())


@pytest.mark.parametrize("text", ["<|bos|>", "a<|bos|>b", "\u2581", "Ġ", "\ufffd", "  two  spaces ", "\r\n\t\x00", "ﬁ"])
def test_text_that_other_tokenizers_bend_comes_back(text: str) -> None:
    tokenizer.prove_round_trip(BPE, [text], "dev")
    assert tokenizer.bos_id(BPE) not in BPE.encode(text, add_special_tokens=False).ids


def test_only_bos_has_no_bytes() -> None:
    lengths = tokenizer.byte_lengths(BPE)
    assert len(lengths) == 300
    assert [number for number, length in enumerate(lengths) if length == 0] == [tokenizer.bos_id(BPE)]


def test_every_document_stands_behind_a_bos() -> None:
    stream = tokenizer.stream(BPE, ["one two", "drei"]).tolist()
    bos = tokenizer.bos_id(BPE)
    second = stream.index(bos, 1)
    assert stream[0] == bos
    assert BPE.decode(stream[1:second]) == "one two"
    assert BPE.decode(stream[second + 1 :]) == "drei"


def test_training_is_deterministic() -> None:
    assert tokenizer.train(corpus(), 300).to_str() == BPE.to_str()


def test_a_tokenizer_that_bends_text_stops_the_build_without_quoting_it() -> None:
    bent = Tokenizer.from_str(BPE.to_str())
    bent.normalizer = normalizers.Lowercase()
    with pytest.raises(BuildError, match=r"public document 1: decode\(encode\(x\)\) is not x$"):
        tokenizer.prove_round_trip(tokenizer.freeze(bent), ["fine", "Secret"], "public")


def test_a_frozen_tokenizer_that_takes_bos_for_a_token_would_be_caught() -> None:
    loose = Tokenizer.from_str(BPE.to_str())
    loose.encode_special_tokens = False
    with pytest.raises(BuildError):
        tokenizer.prove_round_trip(loose, ["a<|bos|>b"], "dev")


def test_too_little_text_for_the_vocabulary_is_refused() -> None:
    with pytest.raises(BuildError, match="of 1024 tokens"):
        tokenizer.train(["ab"], 1024)
