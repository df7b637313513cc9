"""Tags and filters of the pages; what they say is decided in `wording.py`."""

from datetime import datetime, timedelta
from typing import Any

from django import template
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from leaderboard.web import marks, wording

FAR = timedelta(days=90)  # beyond it nobody counts days
register = template.Library()
register.filter("duration", wording.duration)
register.filter("clock", wording.clock)
register.filter("size", wording.size)
register.filter("percent", wording.percent)
register.filter("visible", lambda text: wording.visible(str(text)))
register.filter("log_text", wording.log_text)
register.simple_tag(marks.interval, name="interval_mark")
register.simple_tag(marks.bar, name="compute_bar")


@register.simple_tag
def chip(state: str) -> SafeString:
    """Draw a state with its glyph and its word."""
    glyph, word, colour = wording.state_of(state)
    return format_html('<span class="chip {}"><span aria-hidden="true">{}</span> {}</span>', colour, glyph, word)


@register.filter
def word(state: str) -> str:
    """Return a state's word alone."""
    return wording.state_of(state)[1]


@register.filter
def until(moment: datetime | str) -> str:
    """Return `in` and how long it is to a moment; of one that is months away, `on` and its day."""
    at = wording.moment(moment)
    if at is None:
        return ""
    now = timezone.now()
    return f"in {wording.span(now, at)}" if at - now < FAR else f"on {at:%Y-%m-%d}"


@register.simple_tag
def when(moment: datetime | str | None, show: str = "day") -> SafeString | str:
    """Draw a time: UTC as sent, the reader's own zone where scripts run. `show`: day (with the hour) or clock."""
    at = wording.moment(moment)
    if at is None:
        return "–"
    text = at.strftime("%H:%M:%S" if show == "clock" else "%Y-%m-%d %H:%M UTC")
    return format_html('<time datetime="{}" data-show="{}">{}</time>', at.strftime("%Y-%m-%dT%H:%M:%SZ"), show, text)


@register.simple_tag
def bpb(value: float | None, step: float) -> str:
    """Return bits per byte with the phase's digits."""
    return wording.bpb(value, step)


@register.simple_tag
def half_width(low: float | None, high: float | None, step: float) -> str:
    """Return the half width of an interval."""
    return wording.half_width(low, high, step)


@register.filter
def ticks(text: Any) -> SafeString:
    """Return a sentence, escaped, with its `backticks` drawn as code."""
    parts = wording.visible(str(text)).split("`")
    if len(parts) % 2 == 0:  # an odd one out is only a character
        parts[-2:] = ["`".join(parts[-2:])]
    pieces = ((format_html("<code>{}</code>" if number % 2 else "{}", part),) for number, part in enumerate(parts))
    return format_html_join("", "{}", pieces)


@register.filter
def thousands(number: Any) -> str:
    """Return a count with commas."""
    return f"{number:,}" if isinstance(number, int) else "–"
