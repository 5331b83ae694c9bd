"""LangGraph SDK: runs by the clock, which there are not: each call is refused by a sentence."""

from typing import Any

from starlette.responses import Response

from turnstream.server.http.operations import Operation
from turnstream.server.http.problems import problem
from turnstream.server.http.state import ApiRequest
from turnstream.server.turns.problem_codes import pick


def _refusing(id: str, summary: str) -> Any:
    async def refuse(_request: ApiRequest) -> Response:
        raise problem("no_crons")

    refuse.__doc__ = summary
    return Operation(id, {}, pick("no_crons"))(refuse)


create_cron = _refusing("langgraphCreateCron", "Refuse to start runs by the clock.")
create_cron_of_thread = _refusing(
    "langgraphCreateCronOfThread", "Refuse to start runs of a thread by the clock."
)
search_crons = _refusing("langgraphSearchCrons", "Refuse to list runs by the clock.")
count_crons = _refusing("langgraphCountCrons", "Refuse to count runs by the clock.")
get_cron = _refusing("langgraphGetCron", "Refuse to load a run by the clock.")
update_cron = _refusing("langgraphUpdateCron", "Refuse to change runs by the clock.")
delete_cron = _refusing("langgraphDeleteCron", "Refuse to delete runs by the clock.")
