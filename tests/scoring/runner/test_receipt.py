import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring import chain, receipt

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abcé", max_size=3), inner, max_size=3),
    max_leaves=10,
)


@given(fields=st.dictionaries(st.text("abc", min_size=1), JSON, max_size=4))
def test_a_signature_holds_for_its_receipt_through_json(fields: dict[str, object]) -> None:
    key = receipt.new_key()
    signature = receipt.sign(fields, key)
    receipt.verify(json.loads(json.dumps(fields)), signature, receipt.public_key(key))


def test_a_signature_holds_for_nothing_else() -> None:
    key = receipt.key_from_seed("01" * 32)
    fields = {"run_id": "r0001", "exit": {"code": "ok"}}
    signature, public = receipt.sign(fields, key), receipt.public_key(key)
    receipt.verify(fields, signature, public)
    for changed, sig, pub in (
        ({**fields, "run_id": "r0002"}, signature, public),
        (fields, "00" * 64, public),
        (fields, "zz", public),
        (fields, signature, receipt.public_key(receipt.new_key())),
        (fields, signature, ""),
        (fields, key.sign(receipt.canonical(fields)).hex(), public),  # without the context
    ):
        with pytest.raises(receipt.BadSignature):
            receipt.verify(changed, sig, pub)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**53, {1: 2}])
def test_what_json_cannot_say_exactly_is_not_signed(value: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        receipt.sign({"x": value}, receipt.new_key())


def test_the_chain_is_the_documented_arithmetic() -> None:
    first = hashlib.sha256(bytes(32) + b'{"kind":"run","n":0}').hexdigest()
    second = hashlib.sha256(bytes.fromhex(first) + b'{"kind":"run","n":1}').hexdigest()
    assert chain.entry_hash(chain.GENESIS, {"n": 0, "kind": "run"}) == first
    assert chain.entry_hash(first, {"kind": "run", "n": 1}) == second


@pytest.mark.parametrize("previous", ["", "00" * 31, "00" * 33, "zz" * 32])
def test_a_chain_hash_has_32_bytes(previous: str) -> None:
    with pytest.raises(ValueError, match=r"32 bytes|hexadecimal"):
        chain.entry_hash(previous, {})
