"""As whom a command acts, said where the user may not know: a project file can bring somebody else's token along."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from leaderboard.cli.answers import need
from leaderboard.cli.settings import Settings
from leaderboard.cli.words import one_line

if TYPE_CHECKING:
    from leaderboard.cli.api import Api


def tell_account(settings: Settings, api: Api) -> None:
    """Say on stderr whose account is used where a project file names its token; asks the server. Raises as api.me."""
    if settings.lender is None:
        return
    user, path = need(api.me(), "user", str), os.path.relpath(settings.lender)
    sys.stderr.write(f"submit: acting as {one_line(user)}, by the token of {one_line(path)}.\n")
