"""Places where runs execute. Every one of them starts the same unit: `python -m scoring.runner job.json`."""
