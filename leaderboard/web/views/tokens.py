"""A person's API tokens: make one, see it once, take it back."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from leaderboard.accounts.services import issue_token, revoke_token
from leaderboard.core.errors import Refusal
from leaderboard.web.forms import TokenForm
from leaderboard.web.views.shell import member


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def tokens(request: HttpRequest) -> HttpResponse:
    """Show the tokens. A new one's text is in the answer to the POST and nowhere else, so that does not redirect."""
    user = member(request)
    form, secret, status = TokenForm(request.POST or None), None, 200
    if request.method == "POST":
        status = 400
        if form.is_valid():
            try:
                _, secret = issue_token(user=user, **form.cleaned_data)
                form, status = TokenForm(), 200
            except Refusal as refusal:
                form.add_error(None, refusal.message)
                status = refusal.status
    mine = user.tokens.order_by("-created")
    context = {"form": form, "secret": secret, "tokens": mine, "now": timezone.now()}
    return render(request, "web/tokens.html", context, status=status)


@login_required
@require_POST
def revoke(request: HttpRequest, pk: int) -> HttpResponse:
    """Take a token back. Somebody else's is left alone and not told apart from one that is gone."""
    revoke_token(user=member(request), token_id=pk)
    messages.success(request, "The token is revoked; whoever still uses it is refused from now on.")
    return redirect("web:tokens")
