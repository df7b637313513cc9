"""Who calls: a person by token or by session, an agent by its key, a host by the capability of one attempt."""

from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from ninja.security.base import AuthBase
from ninja.utils import check_csrf

from leaderboard.accounts.models import ApiToken, Scope, User
from leaderboard.accounts.services import token_of_text
from leaderboard.core.errors import Refusal
from leaderboard.runs import agents
from leaderboard.runs.models import Agent
from leaderboard.submissions.services import count_upload
from leaderboard.submissions.visibility import Viewer

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_WIDTH = list(Scope)  # each scope includes those before it


class Caller(AuthBase):
    """A person. `Authorization: Bearer <token>`, or the site's session, which to change things shows its CSRF token.

    `optional=True` lets strangers in as AnonymousUser; a token that is there must still be good. What changes things
    needs a token for everything, unless the address says that `scope` is enough.
    """

    openapi_type = "http"
    openapi_scheme = "bearer"

    def __init__(self, *, optional: bool = False, scope: Scope = Scope.ALL) -> None:
        self.optional, self.scope = optional, scope
        super().__init__()

    def __call__(self, request: HttpRequest) -> Viewer:
        if "Authorization" in request.headers:
            token = token_of_text(credential(request, "Bearer"))
            self._require(Scope(token.scope), request)
            request.api_token = token  # type: ignore[attr-defined]  # for those who ask about the token itself
            return token.user
        user = request.user
        if isinstance(user, User) and user.is_authenticated:
            if request.method not in SAFE and check_csrf(request) is not None:
                raise Refusal("csrf", "This request came from no page of this site; reload and try again.", 403)
            return user
        if self.optional:
            return AnonymousUser()
        raise Refusal("not_authenticated", "Send a token: `Authorization: Bearer …`. Make one on the site.", 401)

    def _require(self, held: Scope, request: HttpRequest) -> None:
        needed = Scope.READ if request.method in SAFE else self.scope
        if _WIDTH.index(held) < _WIDTH.index(needed):
            raise Refusal(
                "scope", f"This token is for `{held}` only, and this needs `{needed}`; make another on the site.", 403
            )


class Sender(Caller):
    """A person who sends a script in; it counts for them before it is read. Raises Refusal too_many (429)."""

    def __init__(self) -> None:
        super().__init__(scope=Scope.SUBMIT)

    def __call__(self, request: HttpRequest) -> Viewer:
        found = super().__call__(request)
        if isinstance(found, User):
            count_upload(found)
        return found


class AgentKey(AuthBase):
    """An agent. `Authorization: Agent <key>`."""

    openapi_type = "apiKey"
    openapi_name = "Authorization"
    openapi_in = "header"

    def __call__(self, request: HttpRequest) -> Agent:
        return agents.of_key(credential(request, "Agent"))


class CapabilityText(AuthBase):
    """A host at work. `Authorization: Bearer <capability>`; which attempt it is for is checked with the attempt."""

    openapi_type = "http"
    openapi_scheme = "bearer"

    def __call__(self, request: HttpRequest) -> str:
        return credential(request, "Bearer")


def credential(request: HttpRequest, scheme: str) -> str:
    """Return what follows the scheme in the Authorization header. Raises Refusal not_authenticated (401)."""
    found, _, text = request.headers.get("Authorization", "").partition(" ")
    if found.lower() != scheme.lower() or not text.strip():
        raise Refusal("not_authenticated", f"Send `Authorization: {scheme} …`.", 401)
    return text.strip()


def caller_of(request: HttpRequest) -> Viewer:
    """Return the person that `Caller` found."""
    viewer: Viewer = request.auth  # type: ignore[attr-defined]  # ninja puts it there
    return viewer


def person_of(request: HttpRequest) -> User:
    """Return the person of an address that is not for strangers."""
    viewer = caller_of(request)
    if not isinstance(viewer, User):
        raise Refusal("not_authenticated", "Send a token: `Authorization: Bearer …`. Make one on the site.", 401)
    return viewer


def token_of(request: HttpRequest) -> ApiToken | None:
    """Return the token that the caller came with, None for a session."""
    token: ApiToken | None = getattr(request, "api_token", None)
    return token
