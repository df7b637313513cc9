"""The suite's second round is on other servers than its first."""

import pytest
from django.db import connection
from valkey import Valkey

from tests.servers import ON_SERVERS


@pytest.mark.django_db
def test_this_round_runs_on_the_servers_that_it_names(broker):
    with Valkey(unix_socket_path=str(broker)) as client:
        name = client.info("server").get("server_name", "redis")  # Redis does not say its name, Valkey does
    assert (connection.vendor, name) == (("postgresql", "redis") if ON_SERVERS else ("sqlite", "valkey"))
