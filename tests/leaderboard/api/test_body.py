"""What a host may send as JSON: judged before a parser sees it, at the price of one look at each byte."""

import pytest

from leaderboard.api.body import MAX_DEPTH, parse
from leaderboard.core.errors import Refusal


def nested(levels: int) -> str:
    return '{"a":' * levels + "1" + "}" * levels


def test_an_object_comes_through_with_brackets_in_its_texts() -> None:
    assert parse(b'{"a": "[[{{\\"", "b": [1, {"c": null}]}') == {"a": '[[{{"', "b": [1, {"c": None}]}


@pytest.mark.parametrize(
    "data",
    [
        nested(MAX_DEPTH + 1).encode(),
        nested(400).encode("utf-16"),
        b'{"a": NaN}',
        b"[1]",
        b"\xff",
        b'{"a":"' + b'\\"' * 250_000,  # never closes: looked at from every quote it would take hours
        b'"' * 500_001,
    ],
    ids=["too deep", "too deep in UTF-16", "NaN", "a list", "not UTF-8", "an open string", "many quotes"],
)
def test_what_is_no_plain_object_is_refused(data: bytes) -> None:
    with pytest.raises(Refusal) as refused:
        parse(data)
    assert refused.value.code == "bad_json"


def test_the_deepest_that_is_allowed_is_allowed() -> None:
    assert parse(nested(MAX_DEPTH).encode())
