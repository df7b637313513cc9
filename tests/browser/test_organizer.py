"""What the audit leaves to a person: an organizer decides by keyboard, and the teams read what was decided."""

from playwright.sync_api import expect

from tests.browser.visitor import PATIENCE, Visitor
from tests.e2e.scripts import BIGRAM
from tests.e2e.site import Site, last_event

SAVES_NOTHING = BIGRAM.replace('torch.save(train().state_dict(), "out/final.pt")', "train()")
HAS_A_FLAG = BIGRAM.replace("import torch\n", "import argparse\n\nimport torch\n", 1).replace(
    "    torch.save(train()",
    '    parser = argparse.ArgumentParser()\n    parser.add_argument("--steps", type=int, default=40)\n'
    "    STEPS = parser.parse_args().steps\n    torch.save(train()",
)
REASON = "<img src=x onerror=console.error(1)> `out/final.pt` is never written"


def test_an_organizer_decides_by_keyboard_and_the_team_sees_it_without_a_reload(
    site: Site, visitor: Visitor, olga: Visitor
) -> None:
    first, second = (last_event(site.submit(script)) for script in (SAVES_NOTHING, HAS_A_FLAG))
    assert (first["event"], second["event"]) == ("in_review", "in_review")
    visitor.log_in("carl")
    visitor.page.goto(f"/submissions/{second['submission']}/")
    visitor.page.evaluate("window.stayed = true")
    visitor.sees("in review", "#state .chip")

    olga.page.goto("/competitions/quick/")
    olga.follow("Review queue")
    olga.sees("2 waiting for a decision")
    olga.page.keyboard.press("j")
    olga.page.keyboard.press("Enter")
    olga.sees("T903")
    olga.page.keyboard.press("r")
    olga.page.keyboard.insert_text(REASON)
    olga.press("Reject")
    olga.sees("is rejected.")
    olga.sees("K102")
    olga.page.keyboard.press("a")
    olga.sees("0 waiting for a decision")
    olga.sees("olga has accepted")
    expect(olga.page.locator("main img")).to_have_count(0)

    visitor.sees("ranked", "#state .chip")
    assert visitor.page.evaluate("window.stayed === true"), "the decision and the run came without a reload"
    visitor.page.goto(f"/submissions/{first['submission']}/")
    visitor.sees("<img src=x", "#state .notice")
    expect(visitor.page.locator("main img")).to_have_count(0, timeout=PATIENCE)
