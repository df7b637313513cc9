from django.apps import AppConfig


class CoreConfig(AppConfig):
    name = "leaderboard.core"
    label = "core"

    def ready(self) -> None:
        from leaderboard.core import checks  # noqa: F401 - importing it registers the checks
