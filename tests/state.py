"""Loaded before everything else (see pyproject.toml): gives the tests a state folder of their own."""

import atexit
import os
import shutil
import tempfile

home = tempfile.mkdtemp(prefix="holdout-test-")
os.environ["HOLDOUT_HOME"] = home
os.environ.pop("HOLDOUT_DATABASE_URL", None)
atexit.register(shutil.rmtree, home, ignore_errors=True)
