"""From signing up to the board: a rejected script, its corrected version, its run as it happens, its place."""

import re

from playwright.sync_api import expect

from tests.browser.visitor import PATIENCE, Visitor
from tests.e2e.scripts import BIGRAM

# Says something twice a second before its clock starts, so that there is time to look on.
SLOW = BIGRAM.replace("import torch\n", "import time\n\nimport torch\n", 1).replace(
    "def train() -> Bigram:\n",
    'def train() -> Bigram:\n    for second in range(12):\n        print(f"warming up {second}", flush=True)\n'
    "        time.sleep(0.5)\n",
)
KNOB = SLOW.replace("import time\n", "import os\nimport time\n", 1).replace(
    "STEPS = 40", 'STEPS = int(os.environ.get("STEPS", "40"))'
)
LINE = KNOB[: KNOB.index("os.environ")].count("\n") + 1


def test_from_signing_up_to_the_board(visitor: Visitor) -> None:
    page = visitor.page
    visitor.sign_up("berta")
    visitor.follow("Two seconds")
    visitor.sees("At home")
    visitor.follow("Submit")
    visitor.sees("1000 of 1000 left today")

    page.get_by_label("Script: choose a file").set_input_files(
        {"name": "train.py", "mimeType": "text/x-python", "buffer": KNOB.encode()}
    )
    visitor.type_into("Method note", "counts of pairs")
    visitor.press("Submit")
    page.wait_for_url(re.compile(r"/submissions/\d+/"))
    mark(visitor)
    visitor.sees("1 finding stops this file")
    visitor.sees("K101", "#audit")
    hit = page.locator("#audit li.hit.bad").first
    expect(hit.locator(".n")).to_have_text(str(LINE))
    expect(hit).to_contain_text("STEPS")
    visitor.sees("rejected", "#state")
    assert marked(visitor), "the findings came without a reload"
    visitor.follow(f"line {LINE}")
    visitor.sees("K101", f"#L{LINE} + .says")

    visitor.follow("Submit")
    visitor.type_into("or paste it", SLOW)
    visitor.type_into("Method note", "counts of pairs")
    visitor.press("Submit")
    page.wait_for_url(re.compile(r"/submissions/\d+/"))
    mark(visitor)
    visitor.sees("running", "#state .chip")
    visitor.sees("warming up 1", "#log")
    expect(page.locator("#device svg.line")).to_have_count(3, timeout=PATIENCE)
    interrupt(visitor)
    visitor.sees("ranked", "#state .chip")
    visitor.sees("bits per byte, lower is better (n = 1)", "#state")
    visitor.sees("step:39", "#log")
    visitor.sees("startup", "#state")
    visitor.sees("Signature verified just now", "#attempts")
    visitor.sees("strict positions", "#attempts")
    visitor.sees("v2: ranked.", "#said")
    assert marked(visitor), "state, log, charts and receipts came without a reload"

    visitor.follow("board")
    visitor.sees("berta yours", "table.board")
    visitor.sees("counts of pairs", "table.board")
    visitor.follow("v2")
    visitor.sees("Versions tried")
    assert page.url.split("?")[1].startswith("open=")
    page.go_back()
    expect(page.locator("tr.opened")).to_have_count(0, timeout=PATIENCE)


def mark(visitor: Visitor) -> None:
    """Leave something on the page that only a reload takes away."""
    visitor.page.evaluate("window.stayed = true")


def marked(visitor: Visitor) -> bool:
    return bool(visitor.page.evaluate("window.stayed === true"))


def interrupt(visitor: Visitor) -> None:
    """Take the network away until the page has asked in vain, give it back, and wait until it asks again."""
    assert visitor.complaints == []
    with visitor.page.expect_event("requestfailed", timeout=PATIENCE):
        visitor.context.set_offline(True)
    with visitor.page.expect_response("**/live/**", timeout=PATIENCE):
        visitor.context.set_offline(False)
    of_the_gap = re.compile("net::ERR_|htmx:(sendError|afterRequest)")
    assert [words for words in visitor.complaints if not of_the_gap.search(words)] == []
    visitor.complaints.clear()
