"""LangGraph SDK: the operations that say what is served."""

from turnstream.server.http.openapi.answers import TEXT
from turnstream.server.http.openapi.operation import Answer, Example, Operation
from turnstream.server.http.openapi.problems import BODY, BODY_FIELDS, LANGGRAPH_ASSISTANTS
from turnstream.server.protocols.body_schemas import an_object, ref

OPERATIONS = {
    ("GET", "/langgraph/info"): Operation(
        "langgraphInfo",
        "What the server is",
        {200: Answer("Its version, and what it has of LangGraph's server.", ref("LangGraph.Info"))},
        examples={"all": Example(200)},
    ),
    ("POST", "/langgraph/assistants/search"): Operation(
        "langgraphSearchAssistants",
        "The graphs, as assistants",
        {200: Answer("The default first.", {"type": "array", "items": ref("LangGraph.Assistant")})},
        (BODY, BODY_FIELDS.only("invalid_body")),
        body=an_object((), graph_id={"description": "The name of the only one that is wanted."}),
        examples={
            "all": Example(200, {}),
            "one that there is not": Example(200, {"graph_id": "none"}),
        },
    ),
    ("GET", "/langgraph/assistants/{assistant_id}"): Operation(
        "langgraphGetAssistant",
        "One of them",
        {200: Answer("A graph.", ref("LangGraph.Assistant"))},
        (LANGGRAPH_ASSISTANTS,),
        path={"assistant_id": TEXT},
        examples={
            "a graph": Example(200, path={"assistant_id": "chat"}),
            "one that there is not": Example(404, path={"assistant_id": "none"}),
        },
    ),
}
