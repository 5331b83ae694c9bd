"""The addresses of LangGraph's published OpenAPI document (langgraph-api 0.16.7), and what
`/langgraph` does at each: a table of docs/clients.md.

    python -m tests.support.langgraph_paths    prints it
"""

from collections.abc import Sequence

from tests.support.langgraph_sdk_calls import PREFIX, endpoint_of
from turnstream.server.http.operations import OPERATION, Operation
from turnstream.server.turns.problem_codes import pick

PATHS = """\
/assistants POST
/assistants/search POST
/assistants/count POST
/assistants/{assistant_id} GET PATCH DELETE
/assistants/{assistant_id}/graph GET
/assistants/{assistant_id}/subgraphs GET
/assistants/{assistant_id}/subgraphs/{namespace} GET
/assistants/{assistant_id}/schemas GET
/assistants/{assistant_id}/versions POST
/assistants/{assistant_id}/latest POST
/threads POST
/threads/search POST
/threads/count POST
/threads/prune POST
/threads/{thread_id} GET PATCH DELETE
/threads/{thread_id}/copy POST
/threads/{thread_id}/state GET POST
/threads/{thread_id}/state/{checkpoint_id} GET
/threads/{thread_id}/state/checkpoint POST
/threads/{thread_id}/history GET POST
/threads/{thread_id}/stream GET
/threads/{thread_id}/storage GET
/threads/{thread_id}/commands POST
/threads/{thread_id}/stream/events POST
/threads/{thread_id}/runs GET POST
/threads/{thread_id}/runs/stream POST
/threads/{thread_id}/runs/wait POST
/threads/{thread_id}/runs/crons POST
/threads/{thread_id}/runs/{run_id} GET DELETE
/threads/{thread_id}/runs/{run_id}/join GET
/threads/{thread_id}/runs/{run_id}/stream GET
/threads/{thread_id}/runs/{run_id}/cancel POST
/runs POST
/runs/stream POST
/runs/wait POST
/runs/batch POST
/runs/cancel POST
/runs/crons POST
/runs/crons/search POST
/runs/crons/count POST
/runs/crons/{cron_id} GET PATCH DELETE
/store/items GET PUT DELETE
/store/items/search POST
/store/namespaces POST
/a2a/{assistant_id} POST
/mcp/ GET POST DELETE
/info GET
/ok GET
/metrics GET
/docs GET"""


def rows() -> Sequence[tuple[str, Sequence[str], Sequence[str], str]]:
    """Each address with the methods that work, those that are refused, and the refusal's code."""
    found = []
    for path, *methods in map(str.split, PATHS.splitlines()):
        codes = {method: refusal_of(method, path) for method in methods}
        works = [method for method in methods if codes[method] is None]
        refused = [method for method in methods if codes[method] is not None]
        found.append((path, works, refused, next((one for one in codes.values() if one), "")))
    return found


def refusal_of(method: str, path: str) -> str | None:
    """The code of the problem with which a call is refused; None: it works."""
    endpoint = endpoint_of(method, path)
    if endpoint is None:
        return "not_found"
    operation: Operation = getattr(endpoint, OPERATION)
    (problem,) = operation.problems if not operation.answers else (None,)
    return problem and problem.code


def table() -> str:
    head = (
        f"| address below `{PREFIX}` | works | is refused | with the sentence |\n|---|---|---|---|"
    )
    lines = [
        f"| `{path}` | {_listed(works)} | {_listed(refused)} | {_sentence(code)} |"
        for path, works, refused, code in rows()
    ]
    return "\n".join((head, *lines))


def _listed(methods: Sequence[str]) -> str:
    return ", ".join(methods) or "—"


def _sentence(code: str) -> str:
    return "".join(f"`{code}`: {problem.sentences}" for problem in pick(code)) if code else "—"


if __name__ == "__main__":
    print(table())  # noqa: T201
