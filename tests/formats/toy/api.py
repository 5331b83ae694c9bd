"""The address of the toy format."""

from starlette.middleware import Middleware
from starlette.responses import Response
from starlette.routing import Route

from tests.formats.toy import BODY_FORMAT
from turnstream.server.http.authenticated import Authenticated
from turnstream.server.http.chat import Chat, starts_run
from turnstream.server.http.permitted import Permitted
from turnstream.server.http.state import ApiRequest


class Toy(Chat):
    body_format = BODY_FORMAT

    @starts_run("toyRun", "Toy.Body", {"a message": {"say": "Hello"}})
    async def post(self, request: ApiRequest) -> Response:
        """Start a run and stream it in three kinds of events."""
        return await super().post(request)


ROUTES = (Route("/toy", Toy, middleware=[Middleware(Authenticated), Middleware(Permitted)]),)
