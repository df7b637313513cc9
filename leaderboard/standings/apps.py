from django.apps import AppConfig


class StandingsConfig(AppConfig):
    name = "leaderboard.standings"
    label = "standings"
