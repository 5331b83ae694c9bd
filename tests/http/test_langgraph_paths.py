"""LangGraph SDK: what the table in docs/clients.md calls refused is refused in these words."""

from pathlib import Path
from typing import Any

from tests.support.langgraph_paths import rows
from tests.support.langgraph_sdk_calls import PREFIX
from tests.support.serving import serving, settings
from turnstream.server.turns.problem_codes import pick


async def test_each_address_that_is_refused_says_why(tmp_path: Path) -> None:
    async with serving(settings(tmp_path / "t.db")) as client:
        for path, _, refused, code in rows():
            for method in refused:
                asked: Any = None if method in ("GET", "DELETE") else {}
                answer = await client.http.request(method, PREFIX + path, json=asked)
                told = answer.json()
                assert (answer.status_code, told["code"]) == (404, code), (method, path)
                [problem] = pick(code)
                assert code == "not_found" or told["detail"] == problem.sentences
