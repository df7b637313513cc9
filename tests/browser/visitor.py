"""A person at a browser: moves by keyboard alone, and hears everything that the console says."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, expect

PATIENCE = 120_000  # milliseconds; a busy host is slow, and nothing here measures speed
STOPS = 200  # presses of Tab on one page, more than any page has
HEAR_POLICY = """document.addEventListener("securitypolicyviolation", event =>
  console.error("policy: " + event.violatedDirective + " " + event.blockedURI));"""
FOCUS_SHOWS = """() => { const style = getComputedStyle(document.activeElement);
  return document.activeElement === document.body || style.outlineStyle !== "none" && style.outlineWidth !== "0px"; }"""


@dataclass
class Visitor:
    """One browser profile with one page."""

    url: str
    context: BrowserContext
    page: Page
    complaints: list[str] = field(default_factory=list)

    @classmethod
    @contextlib.contextmanager
    def at(cls, url: str, browser: Browser, **options: object) -> "Iterator[Visitor]":
        context = browser.new_context(base_url=url, **options)  # type: ignore[arg-type]
        context.set_default_timeout(PATIENCE)
        context.add_init_script(HEAR_POLICY)
        page = context.new_page()
        someone = cls(url, context, page)
        page.on("console", someone._hear)
        page.on("pageerror", lambda error: someone.complaints.append(f"page error: {error}"))
        try:
            yield someone
        finally:
            context.close()

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.type}: {message.text}")

    def reach(self, target: Locator) -> None:
        """Press Tab until the target has the focus, and see at every stop that the focus can be seen."""
        expect(target).to_be_visible(timeout=PATIENCE)
        for _ in range(STOPS):
            self.page.keyboard.press("Tab")
            assert self.page.evaluate(FOCUS_SHOWS), self.page.evaluate("document.activeElement.outerHTML.slice(0, 200)")
            if target.evaluate("element => element === document.activeElement"):
                return
        raise AssertionError(f"the keyboard does not get to {target}")

    def type_into(self, label: str, text: str) -> None:
        """Go to a field by keyboard and put text there in one go, as pasting does."""
        self.reach(self.page.get_by_label(label))
        self.page.keyboard.insert_text(text)

    def press(self, name: str) -> None:
        """Go to a button by keyboard and press it."""
        self.reach(self.page.get_by_role("button", name=name, exact=True))
        self.page.keyboard.press("Enter")

    def follow(self, name: str) -> None:
        """Go to a link by keyboard and follow it."""
        self.reach(self.page.get_by_role("link", name=name, exact=True).first)
        self.page.keyboard.press("Enter")

    def sign_up(self, name: str) -> None:
        self.page.goto("/")
        self.follow("Sign up")
        self.page.wait_for_url("**/accounts/signup/")
        self.type_into("Email", f"{name}@example.org")
        self.type_into("Username", name)
        self.type_into("Password", "a long enough password")
        self.press("Sign up")
        expect(self.page.get_by_role("button", name=f"Log out {name}")).to_be_visible(timeout=PATIENCE)

    def log_in(self, name: str) -> None:
        self.page.goto("/accounts/login/")
        self.page.get_by_label("Username or email").or_(self.page.get_by_label("Login")).first.fill(name)
        self.page.get_by_label("Password").fill("a long enough password")
        self.page.get_by_role("button", name="Log in").click()
        expect(self.page.get_by_role("button", name=f"Log out {name}")).to_be_visible(timeout=PATIENCE)

    def sees(self, text: str, within: str = "main") -> None:
        """Wait until a part of the page holds the text, however it gets there."""
        expect(self.page.locator(within).first).to_contain_text(text, timeout=PATIENCE)
