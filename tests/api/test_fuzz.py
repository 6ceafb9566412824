"""Whatever fits or breaks the OpenAPI document: no 500, and no answer that it does not name."""

import os

import pytest
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, settings
from schemathesis import Case
from tests.api.conftest import LiveServer, sample

from passway.api.app import create_app
from passway.api.identity import DEMO, Tokens
from passway.store.audit import SqlAudit
from passway.store.database import memory

pytestmark = [pytest.mark.fuzz, pytest.mark.slow]

EXAMPLES = 25 if os.environ.get("PASSWAY_SOAK") else 4


def make() -> FastAPI:
    return create_app(sample(), Tokens(DEMO), audit=SqlAudit(memory(), write=lambda _: None))


config = schemathesis.Config.from_dict(
    {
        # A body may fit its schema and still be refused: by the preflight (422), or by what a
        # schema cannot say, such as unique names and what is inside a manifest (400).
        "checks": {
            "positive_data_acceptance": {
                "expected-statuses": ["2xx", "400", "401", "403", "404", "409", "422"]
            }
        },
    }
)
schema = schemathesis.openapi.from_dict(make().openapi(), config=config)


@pytest.fixture(scope="module")
def live():
    server = LiveServer(make())
    server.start()
    try:
        yield server
    finally:
        server.stop()


@pytest.mark.parametrize("role", ["viewer", "user", "admin"])
@schema.parametrize()
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
def test_answers_are_those_that_are_documented(case: Case, live, role):
    headers = {"Authorization": f"Bearer demo-{role}"}
    response = case.call(base_url=live.url, headers=headers, timeout=20)
    case.validate_response(response, headers=headers)
