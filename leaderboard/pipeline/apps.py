from django.apps import AppConfig


class PipelineConfig(AppConfig):
    name = "leaderboard.pipeline"
    label = "pipeline"

    def ready(self) -> None:
        # Celery looks for tasks in tasks.py alone; the reaper's is registered by importing it.
        from leaderboard.pipeline import reaper  # noqa: F401
