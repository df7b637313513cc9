"""Django's settings, all of them computed from `env.py`."""

import os
import secrets
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from leaderboard.env import PROJECT, env

ENV = env()
HOME = ENV.home
DEBUG = ENV.debug


def _secret_key(path: Path) -> str:
    """Return the site's signing key, made on first use; two processes that start together agree on one."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.parent.parent.chmod(0o700)
    if not path.exists():
        fresh = path.with_name(f"{path.name}.{os.getpid()}")
        try:
            fresh.touch(mode=0o600)
            fresh.write_text(secrets.token_urlsafe(50))
            os.link(fresh, path)  # fails where another process was first, whose key then stands
        except FileExistsError:
            pass
        finally:
            fresh.unlink(missing_ok=True)
    return path.read_text()


def _database(url: str) -> dict[str, object]:
    parts = urlsplit(url)
    if parts.scheme == "sqlite":
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": unquote(parts.path),
            "OPTIONS": {
                # Immediate: a transaction that will write takes the lock first, instead of failing at its first write.
                "transaction_mode": "IMMEDIATE",
                "timeout": 30,
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON;",
            },
        }
    if parts.scheme not in ("postgres", "postgresql"):
        raise ValueError(f"HOLDOUT_DATABASE_URL: {parts.scheme!r} is not postgresql or sqlite")
    options = dict(parse_qsl(parts.query, strict_parsing=bool(parts.query)))
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": options.pop("host", unquote(parts.hostname or "")),
        "PORT": str(parts.port or ""),
        "CONN_MAX_AGE": 60,
        "OPTIONS": options,  # sslmode and the like go to libpq, which refuses what it does not know
    }


SECRET_KEY = _secret_key(HOME / "secrets" / "django.key")
DATABASES = {"default": _database(ENV.database)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
ALLOWED_HOSTS = [name.strip() for name in ENV.allowed_hosts.split(",")]
CSRF_TRUSTED_ORIGINS = [ENV.public_url]
ROOT_URLCONF = "leaderboard.urls"
ASGI_APPLICATION = "leaderboard.asgi.application"
AUTH_USER_MODEL = "accounts.User"
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "allauth",
    "allauth.account",
    "django_htmx",
    "leaderboard.core",
    "leaderboard.ledger",
    "leaderboard.accounts",
    "leaderboard.competitions",
    "leaderboard.submissions",
    "leaderboard.runs",
    "leaderboard.standings",
    "leaderboard.pipeline",
    "leaderboard.web",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "leaderboard.web.csp.ContentSecurityPolicy",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [PROJECT / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            "string_if_invalid": "",
        },
    }
]

AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "username*", "password1*"]
ACCOUNT_EMAIL_VERIFICATION = ENV.email_verification
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/"
EMAIL_BACKEND = (
    "django.core.mail.backends.smtp.EmailBackend" if ENV.email_url else "django.core.mail.backends.console.EmailBackend"
)
if ENV.email_url:
    _mail = urlsplit(ENV.email_url)
    if _mail.scheme not in ("smtp", "smtp+tls", "smtps"):
        raise ValueError(f"HOLDOUT_EMAIL_URL: {_mail.scheme!r} is not smtp, smtp+tls or smtps")
    EMAIL_USE_TLS, EMAIL_USE_SSL = _mail.scheme == "smtp+tls", _mail.scheme == "smtps"
    EMAIL_HOST, EMAIL_PORT = (
        _mail.hostname or "",
        _mail.port or {"smtp": 25, "smtp+tls": 587, "smtps": 465}[_mail.scheme],
    )
    EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = unquote(_mail.username or ""), unquote(_mail.password or "")

STATIC_URL = "/static/"
STATICFILES_DIRS = [PROJECT / "leaderboard" / "web" / "static"]
STATIC_ROOT = HOME / "static"
WHITENOISE_USE_FINDERS = True
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": HOME / "blobs"}},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}

# A script may be as large as its phase says; the gate looks at the exact limit, this bounds what is read at all.
DATA_UPLOAD_MAX_MEMORY_SIZE = 20 * 1024 * 1024
FILE_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = ENV.public_url.startswith("https://")
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

CELERY_BROKER_URL = ENV.broker
CELERY_TASK_IGNORE_RESULT = True  # the database is the only place that remembers
CELERY_TASK_DEFAULT_QUEUE = "platform"
CELERY_TASK_ROUTES = {"agent.execute": {"queue": "hw.none"}}  # every send names its own hardware queue
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "socket_keepalive": True,
    "max_retries": 0,
    "socket_timeout": 3,  # a broker that hangs must not hang an upload: the reaper sends its message later
    "socket_connect_timeout": 3,
}
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
(HOME / "run").mkdir(mode=0o700, exist_ok=True)  # beat writes there, and makes no folder
CELERY_BEAT_SCHEDULE_FILENAME = str(HOME / "run" / "beat-schedule")

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": "INFO"},
}
