"""Addresses of the pages. GET only reads; every change is a POST."""

from django.urls import path

from leaderboard.web.views import (
    board,
    competition,
    device_login,
    home,
    ledger,
    moderation,
    submission,
    team,
    tokens,
    upload,
)

app_name = "web"
COMPETITION = "competitions/<slug:competition>/"
PHASE = COMPETITION + "phases/<slug:phase>/"
SUBMISSION = "submissions/<int:pk>/"

urlpatterns = [
    path("", home.home, name="home"),
    path("ledger/", ledger.ledger, name="ledger"),
    path("device", device_login.code, name="device"),  # as people type it: no slash at the end
    path("device/answer", device_login.answer, name="device-answer"),
    path("rules/", competition.every_rule, name="every-rule"),
    path("rules/<slug:code>", competition.plain_rule, name="plain-rule"),  # as reports and people write it: no slash
    path("tokens/", tokens.tokens, name="tokens"),
    path("tokens/<int:pk>/revoke/", tokens.revoke, name="revoke"),
    path(COMPETITION, competition.overview, name="competition"),
    path(COMPETITION + "kit.zip", competition.kit, name="kit"),
    path(COMPETITION + "rules/", competition.rules, name="rules"),
    path(COMPETITION + "rules/<slug:code>", competition.rule, name="rule"),
    path(COMPETITION + "team/", team.team, name="team"),
    path(COMPETITION + "queue/", moderation.queue, name="queue"),
    path(COMPETITION + "queue/<int:pk>/", moderation.look, name="review"),
    path(COMPETITION + "queue/<int:pk>/decide/", moderation.decide, name="decide"),
    path(COMPETITION + "queue/<int:pk>/reopen/", moderation.reopen, name="reopen"),
    path(COMPETITION + "queue/<int:pk>/keep/", moderation.keep, name="keep"),
    path(PHASE, board.board_page, name="board"),
    path(PHASE + "submit/", upload.upload, name="upload"),
    path(SUBMISSION, submission.page, name="submission"),
    path(SUBMISSION + "live/", submission.live, name="submission-live"),
    path(SUBMISSION + "log/", submission.log, name="submission-log"),
    path(SUBMISSION + "source/", submission.source, name="submission-source"),
    path(SUBMISSION + "script/", submission.script, name="submission-script"),
    path(SUBMISSION + "withdraw/", submission.withdraw, name="submission-withdraw"),
]
