"""Entry point of the web process: `uvicorn leaderboard.asgi:application`."""

import os

from django.core.asgi import get_asgi_application

from leaderboard.core.keptopen import keep_open

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "leaderboard.settings")
application = get_asgi_application()
keep_open()
