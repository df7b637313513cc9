from django.apps import AppConfig


class PipelineConfig(AppConfig):
    name = "leaderboard.pipeline"
    label = "pipeline"
