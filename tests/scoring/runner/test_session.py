"""What the state of a session means; how it comes about, test_scoring.py tries with real sandboxes."""

from typing import Any, cast

import pytest

from scoring.sandbox.box import Box
from scoring.sandbox.spec import SandboxError
from scoring.session import Session

OK = {"ok": True, "score": {}}
CRASHED = {"ok": False, "code": "model_crashed"}


def session(**state: Any) -> Session:
    none = cast(Box, None)
    return Session(server=none, scorer=none, cancel=-1, deadline=0.0, log_bytes=1, tick=lambda: None, **state)


NOT_LOADED = {"ok": False, "code": "load_failed"}


@pytest.mark.parametrize(
    ("state", "kept"),
    [
        ({"result": NOT_LOADED}, b"held"),
        ({"result": NOT_LOADED, "ready": True}, b""),
        ({"result": NOT_LOADED, "scored": True}, b""),
        ({"result": NOT_LOADED, "cause": "log_limit"}, b""),
        ({"result": CRASHED}, b""),
        ({"result": OK}, b""),
        ({"cause": "log_limit"}, b""),
        ({"cause": "cancelled"}, b""),
        ({"cause": "eval_timeout"}, b""),
        ({"out_of_memory": True}, b""),
    ],
)
def test_what_was_printed_is_kept_for_a_model_that_did_not_load(state: dict[str, Any], kept: bytes) -> None:
    """At any other end rows may have been shown already, and printed before the scorer's *ready* was heard."""
    assert session(**state, held=b"held").reason() == kept


VERDICTS: dict[str, tuple[dict[str, Any], tuple[str, str]]] = {
    "scored": ({"result": OK, "ready": True}, ("ok", "")),
    "called off, whatever was said before": ({"result": OK, "cause": "cancelled"}, ("cancelled", "")),
    "scored in time, though its last breath took too much": ({"result": OK, "out_of_memory": True}, ("ok", "")),
    "killed for memory": ({"result": CRASHED, "out_of_memory": True}, ("memory_limit", "")),
    "crashed before it was ready": ({"result": CRASHED}, ("model_crashed", "last words")),
    "crashed beside sealed text": ({"result": CRASHED, "ready": True}, ("model_crashed", "")),
}


@pytest.mark.parametrize("name", VERDICTS)
def test_a_session_ends(name: str) -> None:
    state, verdict = VERDICTS[name]
    assert session(**state).verdict("last words", "") == verdict


@pytest.mark.parametrize(
    "result", [None, {"ok": False}, {"ok": False, "code": "host_fault"}, {"ok": False, "code": "x"}]
)
@pytest.mark.parametrize(
    ("complaint", "words"), [("Traceback\nKeyError: 'salt'\n", "KeyError: 'salt'"), ("", "without a result")]
)
def test_a_scorer_that_fails_is_nobodys_submission(result: dict[str, Any] | None, complaint: str, words: str) -> None:
    with pytest.raises(SandboxError, match=f"the scorer failed: .*{words}"):
        session(result=result).verdict("last words", complaint)
