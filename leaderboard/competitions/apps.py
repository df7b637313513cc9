from django.apps import AppConfig


class CompetitionsConfig(AppConfig):
    name = "leaderboard.competitions"
    label = "competitions"
