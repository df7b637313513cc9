from django.apps import AppConfig


class LedgerConfig(AppConfig):
    name = "leaderboard.ledger"
    label = "ledger"
