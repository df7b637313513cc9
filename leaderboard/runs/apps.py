from django.apps import AppConfig


class RunsConfig(AppConfig):
    name = "leaderboard.runs"
    label = "runs"

    def ready(self) -> None:
        from leaderboard.runs.reopening import reopen_runs
        from leaderboard.submissions.signals import sent_back

        sent_back.connect(reopen_runs, dispatch_uid="runs.reopen")
