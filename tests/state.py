"""Loaded before everything else (see pyproject.toml): gives the tests a state folder of their own.

`TEST_ON=servers` runs them on PostgreSQL and Redis, which are started here, instead of SQLite and Valkey.
"""

import atexit
import os
import shutil
import tempfile

from tests import servers

home = tempfile.mkdtemp(prefix="holdout-test-")
os.environ["HOLDOUT_HOME"] = home
os.environ.pop("HOLDOUT_DATABASE_URL", None)
atexit.register(shutil.rmtree, home, ignore_errors=True)
if servers.ON_SERVERS:
    os.environ["HOLDOUT_DATABASE_URL"] = servers.database("holdout")
