"""The frozen tokenizer: byte-level BPE trained on training text, its byte table, and the proof of its round trip."""

from __future__ import annotations

from array import array
from collections.abc import Iterable

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from scoring.scorer.documents import BuildError

BOS = "<|bos|>"
BATCH = 1024


def train(texts: Iterable[str], vocab_size: int) -> Tokenizer:
    """Train a byte-level BPE of exactly `vocab_size` tokens, BOS included. Raises BuildError on too little text."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[BOS],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    if tokenizer.get_vocab_size() != vocab_size:
        raise BuildError(f"the text gives only {tokenizer.get_vocab_size()} of {vocab_size} tokens")
    return freeze(tokenizer)


def freeze(tokenizer: Tokenizer) -> Tokenizer:
    """Make the letters `<|bos|>` in a document plain text; only the builder writes the token."""
    tokenizer.encode_special_tokens = True
    return tokenizer


def bos_id(tokenizer: Tokenizer) -> int:
    """Give the id of BOS. Raises BuildError where the vocabulary has none."""
    bos = tokenizer.token_to_id(BOS)
    if bos is None:
        raise BuildError(f"the tokenizer has no {BOS}")
    return bos


def byte_lengths(tokenizer: Tokenizer) -> array[int]:
    """Count the bytes of every token id: BOS 0, else one per letter of the byte-level alphabet."""
    bos = bos_id(tokenizer)
    pieces = (tokenizer.id_to_token(i) or "" for i in range(tokenizer.get_vocab_size()))
    return array("H", [0 if i == bos else len(piece) for i, piece in enumerate(pieces)])


def stream(tokenizer: Tokenizer, texts: list[str]) -> array[int]:
    """Encode documents into one stream, each behind a BOS."""
    bos = bos_id(tokenizer)
    tokens = array("H")
    for start in range(0, len(texts), BATCH):
        for encoding in tokenizer.encode_batch_fast(texts[start : start + BATCH], add_special_tokens=False):
            tokens.append(bos)
            tokens.extend(encoding.ids)
    return tokens


def prove_round_trip(tokenizer: Tokenizer, texts: list[str], target: str) -> None:
    """Check decode(encode(x)) == x, and that the byte table counts x's bytes, for every document.

    Raises BuildError with the target and number of the first document that fails; never its text.
    """
    lengths = byte_lengths(tokenizer)
    for number, text in enumerate(texts):
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        if tokenizer.decode(ids, skip_special_tokens=False) != text:
            raise BuildError(f"{target} document {number}: decode(encode(x)) is not x")
        if sum(lengths[i] for i in ids) != len(text.encode()):
            raise BuildError(f"{target} document {number}: the token table does not count its bytes")
