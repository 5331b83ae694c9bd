"""Requests that schemathesis makes of the OpenAPI document, valid ones and others: the server
answers each as the document says. `make fuzz` goes on without end."""

import asyncio
from pathlib import Path

import pytest

from tests.fuzz.served import REPLACED, fuzzed, in_thread, schemathesis
from tests.support.samples import LONG, sample
from tests.support.users import bearer, make_key, named

pytestmark = pytest.mark.full
EXAMPLES = sample(60, 3)
PHASES = ("--phases", "examples,coverage,fuzzing,stateful" if LONG else "examples,fuzzing,stateful")
FIXED = (
    "--continue-on-failure",
    "--seed",
    "7",
    "--max-examples",
    str(EXAMPLES),
    "--generation-deterministic",
    *PHASES,
)
EVERYTHING = "deleteEverything"


@pytest.mark.long
@pytest.mark.timeout(sample(900, 300))
def test_every_answer_is_one_of_the_document(tmp_path: Path) -> None:
    with in_thread(fuzzed(tmp_path)) as (client, _):
        assert schemathesis(client.url, tmp_path, "run", FIXED) == 0


@pytest.mark.long
@pytest.mark.timeout(sample(900, 300))
def test_callers_with_keys_get_answers_of_the_document(tmp_path: Path) -> None:
    with in_thread(fuzzed(tmp_path, auth="keys")) as (client, loop):
        key = asyncio.run_coroutine_threadsafe(make_key(client, "ann"), loop).result(60)
        # The key would be gone with everything else.
        others = ("--exclude-operation-id", EVERYTHING)
        credentials = ("--header", f"Authorization:{bearer(key)['Authorization']}")
        assert schemathesis(client.url, tmp_path, "run", (*FIXED, *others, *credentials)) == 0


@pytest.mark.long
def test_a_caller_whom_a_proxy_names_deletes_everything_as_the_document_says(
    tmp_path: Path,
) -> None:
    values = {"auth": ("keys", "header"), "trusted_proxies": ("127.0.0.1",)}
    with in_thread(fuzzed(tmp_path, **values)) as (client, _):
        ((name, value),) = named("ann").items()
        # Without credentials the proxy still names the caller.
        unchecked = ("--exclude-checks", f"{REPLACED},ignored_auth")
        only = ("--include-operation-id", EVERYTHING, "--header", f"{name}:{value}", *unchecked)
        assert schemathesis(client.url, tmp_path, "run", (*FIXED, *only)) == 0
