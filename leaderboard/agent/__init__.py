"""The process on a hardware host that takes runs: a Celery worker without Django, database or other queues."""
