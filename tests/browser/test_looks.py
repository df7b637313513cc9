"""Every page, narrow and wide, light and dark: it fits, it can be read, and the console is silent."""

from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.visitor import Visitor
from tests.e2e.scripts import BIGRAM
from tests.e2e.site import Site, last_event

LEAST_CONTRAST = 4.5
# Every text that is drawn, with its own colour against the first background behind it that lets nothing through.
FAINT = """least => {
  const rgb = text => text.match(/[\\d.]+/g).map(Number);
  const channel = value => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const behind = element => {
    for (; element; element = element.parentElement) {
      const colour = rgb(getComputedStyle(element).backgroundColor);
      if (colour.length < 4 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode, element = text.parentElement, range = document.createRange();
    range.selectNodeContents(text);
    if (!text.data.trim() || !range.getClientRects().length || element.closest(".hidden-text, noscript")) continue;
    const style = getComputedStyle(element);
    const one = light(rgb(element instanceof SVGElement ? style.fill : style.color)), other = light(behind(element));
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (contrast < least) found.push(`${contrast.toFixed(2)} ${text.data.trim().slice(0, 40)}`);
  }
  return [found, walker.root.innerText.length];
}"""
SIDEWAYS = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


@dataclass
class Shown:
    """What there is to look at: a ranked version and a rejected one."""

    ranked: int
    rejected: int

    def addresses(self) -> list[str]:
        contest, board = "/competitions/quick/", "/competitions/quick/phases/open/"
        return [
            *(
                "/",
                contest,
                f"{contest}rules/",
                f"{contest}team/",
                board,
                f"{board}?open={self.ranked}",
                f"{board}submit/",
            ),
            *(
                f"/submissions/{self.ranked}/",
                f"/submissions/{self.rejected}/",
                f"/submissions/{self.rejected}/source/",
            ),
            *("/tokens/", "/ledger/", "/competitions/quick/phases/over/submit/", "/nothing-here/"),
        ]

    def of_organizers(self) -> list[str]:
        contest = "/competitions/quick/"
        return [
            f"{contest}queue/",
            f"{contest}queue/{self.rejected}/",
            f"/submissions/{self.ranked}/",
            f"{contest}phases/open/?shard=private",
        ]


@pytest.fixture(scope="module")
def shown(site: Site) -> Shown:
    knob = BIGRAM.replace("STEPS = 40", 'import os\nSTEPS = int(os.environ.get("STEPS", "40"))')
    ranked, rejected = (last_event(site.submit(script + "# to be looked at\n")) for script in (BIGRAM, knob))
    assert (ranked["event"], rejected["event"]) == ("ranked", "rejected")
    return Shown(ranked["submission"], rejected["submission"])


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("who", ["carl", "olga"])
def test_every_page_fits_and_can_be_read(
    site: Site, chromium: Browser, shown: Shown, who: str, width: int, scheme: str
) -> None:
    view = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
    with Visitor.at(site.url, chromium, **view) as reader:
        reader.log_in(who)
        for address in shown.addresses() if who == "carl" else shown.of_organizers():
            reader.page.goto(address)
            open_everything(reader.page)
            faint, length = reader.page.evaluate(FAINT, LEAST_CONTRAST)
            assert length > 100, address
            assert faint == [], address
            assert reader.page.evaluate(SIDEWAYS) <= 0, address
        missing = "error: Failed to load resource: the server responded with a status of 404 (Not Found)"
        assert [words for words in reader.complaints if words != missing] == []


def test_the_theme_that_was_chosen_stays(site: Site, chromium: Browser) -> None:
    with Visitor.at(site.url, chromium, color_scheme="light") as someone:
        someone.page.goto("/")
        paper = someone.page.evaluate("getComputedStyle(document.body).backgroundColor")
        someone.press("Theme: system")
        someone.press("Theme: light")
        dark = someone.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert dark != paper
        someone.page.goto("/ledger/")
        assert someone.page.evaluate("getComputedStyle(document.body).backgroundColor") == dark
        assert someone.complaints == []


def test_a_page_without_scripts_says_the_same_and_loads_itself_again(
    site: Site, chromium: Browser, shown: Shown
) -> None:
    with Visitor.at(site.url, chromium, java_script_enabled=False) as carl:
        carl.log_in("carl")
        carl.page.goto(f"/submissions/{shown.rejected}/")
        carl.sees("1 finding stops this file")
        carl.page.goto("/competitions/quick/phases/open/submit/")
        carl.page.get_by_label("or paste it").fill(BIGRAM + "# without scripts\n")
        carl.page.get_by_role("button", name="Submit").click()
        carl.page.wait_for_url("**/submissions/*/")
        carl.sees("ranked", "#state .chip")


def open_everything(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
