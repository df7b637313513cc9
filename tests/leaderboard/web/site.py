"""A small site with one of everything, and the addresses of all its pages."""

from dataclasses import dataclass

from django.urls import reverse

from leaderboard.accounts.models import User
from leaderboard.accounts.services import issue_token
from leaderboard.competitions.models import Competition
from leaderboard.submissions.models import Submission
from leaderboard.web.urls import urlpatterns
from tests.leaderboard.cast import KNOBS, SCRIPT, make_competition, make_user
from tests.leaderboard.host import Host, drive, send


@dataclass
class Site:
    """Ada's team has a ranked and a rejected version; bob is somebody else."""

    ada: User
    bob: User
    demo: Competition
    ranked: Submission
    rejected: Submission

    def addresses(self, submission: Submission) -> dict[str, str]:
        """Return every page's address by its name; taken from the URL list, so none is forgotten."""
        token = self.ada.tokens.first() or issue_token(user=self.ada, name="laptop")[0]
        known = {"competition": self.demo.slug, "phase": "open", "code": "K101"}
        found = {}
        for pattern in urlpatterns:
            wanted = pattern.pattern.converters
            values = {name: known[name] for name in wanted if name != "pk"}
            if "pk" in wanted:
                values["pk"] = token.pk if pattern.name == "revoke" else submission.pk
            found[str(pattern.name)] = reverse(f"web:{pattern.name}", kwargs=values)
        return found


POST_ONLY = frozenset({"decide", "device-answer", "keep", "reopen", "revoke", "submission-withdraw"})


def make_site() -> Site:
    ada, bob, demo, host = make_user("ada"), make_user("bob"), make_competition(advance=1), Host.register()
    ranked = send(ada, demo, SCRIPT, note="a table of bigrams")
    drive()
    work = host.claim_next()
    work.log(0, b"step 1 loss 3.5\nstep 2 loss 3.25\n")
    work.finish()
    drive()
    host.claim_next().finish(bpb=2.03449)
    drive()
    rejected = send(ada, demo, KNOBS)
    drive()
    for submission in (ranked, rejected):
        submission.refresh_from_db()
    return Site(ada, bob, demo, ranked, rejected)
