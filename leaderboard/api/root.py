"""The API object that the routers hang on."""

from ninja import NinjaAPI

api = NinjaAPI(title="Holdout", version="1", urls_namespace="api")
