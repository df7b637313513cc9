"""What other pages show to organizers: the way to their queue, and the buttons beside a submission."""

from typing import Any

from django import template
from django.template.context import Context

from leaderboard.competitions.models import Competition
from leaderboard.submissions import review
from leaderboard.submissions.models import Submission
from leaderboard.submissions.moderation import last_decision
from leaderboard.submissions.visibility import organizes
from leaderboard.web import desk

register = template.Library()


@register.inclusion_tag("web/moderation/link.html", takes_context=True)
def queue_link(context: Context, competition: Competition) -> dict[str, Any]:
    """Draw the way to the queue, with how many wait, for who organizes the competition; nothing for others."""
    allowed = organizes(context["request"].user, competition)
    count = review.waiting(competition).count() if allowed else 0
    return {"competition": competition, "organizes": allowed, "count": count}


@register.simple_tag
def desk_of(submission: Submission) -> dict[str, Any]:
    """Return what an organizer can do with a submission."""
    return desk.desk(submission, last_decision(submission))
