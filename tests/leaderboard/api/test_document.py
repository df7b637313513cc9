"""The API's own document: every address people call says who may, what it takes and how it refuses."""

import pytest

from leaderboard.api.root import api

NEW = {
    ("get", "/api/v1/me"),
    ("post", "/api/v1/me/token/revoke"),
    ("post", "/api/v1/device/start"),
    ("post", "/api/v1/device/token"),
    ("get", "/api/v1/submissions"),
    ("post", "/api/v1/submissions"),
    ("post", "/api/v1/submissions/{number}/cancel"),
    ("post", "/api/v1/submissions/{number}/withdraw"),
}


@pytest.fixture(scope="module")
def document():
    return api.get_openapi_schema()


def operations(document):
    return {(verb, path): op for path, verbs in document["paths"].items() for verb, op in verbs.items()}


def test_every_address_for_people_has_an_answer_and_the_one_shape_of_errors(document):
    found = operations(document)
    assert set(found) >= NEW
    for key in NEW:
        answers = found[key]["responses"]
        refused = {code: answer for code, answer in answers.items() if int(code) >= 400}
        assert refused, key
        for answer in refused.values():
            assert answer["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/Problem"}, key
        assert any(int(code) < 300 for code in answers), key
        assert found[key]["description"], key


def test_who_may_call_is_said_of_all_but_the_login_itself(document):
    open_to_all = {key for key, op in operations(document).items() if not op.get("security")}
    assert open_to_all == {("post", "/api/v1/device/start"), ("post", "/api/v1/device/token")}


def test_the_key_of_an_upload_is_documented(document):
    parameters = operations(document)["post", "/api/v1/submissions"]["parameters"]
    assert [(p["name"], p["in"], p["required"]) for p in parameters] == [("Idempotency-Key", "header", False)]
