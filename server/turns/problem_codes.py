"""Problem codes: the status, the meaning and the remedy of each.

Endpoints declare the problems that they answer with. The OpenAPI document and the table in
docs/http.md are made from this table, and so is the answer, unless its sentence names values.
"""

from collections.abc import Mapping
from typing import NamedTuple

TABLE = """\
400 malformed_json | The body is not JSON. | Send one JSON object in UTF-8.
400 malformed_request | The request is not valid HTTP/1.1, has headers of more than 16 KiB, or has both `Content-Length` and `Transfer-Encoding`; the connection is closed. | Correct the request.
401 http_error | The server may not read a file of the page. | Let the server read the file.
401 unauthenticated | The request has no valid credentials, or its session has ended; `login` is false if only a proxy logs people in. | Send a key or a token as `Authorization: Bearer`, or log in at `POST /login`.
403 approval_required | A person must approve this call. | Ask for the call in a thread, where it waits for an approval.
403 development_only | `turnstream dev` answers programs of its own machine alone, and none that a proxy or a tunnel brings. | Call it directly, or start turnstream without dev.
403 authentication_not_set | Everyone who reaches this address could read, change and delete every thread. | Set TURNSTREAM_AUTH to keys, jwt, header or module:function (to 'off' if they all may), or reach the server on 127.0.0.1.
403 forbidden | The policy gives the caller no role, or no right to approve their own call; or an `@auth.on` rule of the server does not let them do this. | Ask the operator of the server for it.
403 host_not_allowed | The `Host` of the request is not one of `TURNSTREAM_ALLOWED_HOSTS`. | Add the host to the setting.
403 model_not_allowed | The policy does not allow the model. | Name one of `GET /models`.
403 origin_not_allowed | The page that sent the request has another origin than the server. | Add the origin to `TURNSTREAM_ALLOWED_ORIGINS`.
403 origin_required | A request that changes something with the cookie of a session needs an Origin header, which browsers send. | Send the header, or 'Authorization: Bearer' in place of the cookie.
403 tool_not_allowed | The policy does not allow the tool. | Use one of `GET /tools`.
404 assistant_not_found | The caller has no such assistant. | Name one of `POST /langgraph/assistants/search`.
404 no_crons | Nothing runs by the clock here. | Start runs from a scheduler of your own.
404 no_login | Nobody logs in here: a proxy logs people in. | See GET /me.
404 no_store | Clients reach no items of LangGraph's store: the built-in graph keeps none, and with `TURNSTREAM_AUTH` they would belong to nobody, unless `@auth.on.store` rules say whose they are. | Have the graph read or write the item.
404 not_a_real_tool | The tool lives in the browser. | Call a tool of `GET /tools` with the `kind` `real`.
404 not_queued | No request waits under this id: it was withdrawn, or its run has begun. | Load the thread.
404 not_found | Nothing has this address. | Correct the address.
404 run_not_found | The thread has no such run, or the run is held no more. | Load the thread.
404 thread_not_found | The caller has no thread with this id. | Take the id of a thread of `GET /threads`.
404 unknown_approval | No call waits for an approval of the caller under this id. | Take the id of a call of `GET /approvals`.
404 unknown_tool | The server has no such tool. | Call a tool of `GET /tools`.
404 unknown_version | The thread has no such version of a message. | Load the thread.
405 method_not_allowed | The address has no such method. | Use a method of `Allow`.
408 request_timeout | The headers or the body of the request took too long; the connection is closed. | Send the request faster.
409 already_answered | The call has an answer or a decision; the first one counts. | Load the thread.
409 approval_expired | The time to decide on the call is over. | Send a message.
409 approval_pending | A call waits for an approval. | Send a decision, or a message, which cancels the call.
409 asker_forbidden | The user who asked for the call has no role any more, so that their run cannot go on. | Ask the operator of the server for a role.
409 assistant_exists | An assistant has this id. | Send another id, or `if_exists: do_nothing`.
409 assistant_is_graph | The assistant is a graph of the server, which clients cannot change. | Make an assistant of the graph.
409 export_in_progress | An export of yours is being sent. | Wait for its end, or close its connection.
409 graph_mismatch | The thread belongs to another graph than the request names. | Name the graph of the thread or none, or start a new thread.
409 graph_not_served | The graph of the thread is not served any more. | Start a new thread, or serve that graph again.
409 interrupt_pending | The graph waits for an answer, and the request has `on_interrupt: reject`, or `queue` without `on_busy: queue`. | Send the answer as `resume`.
409 message_exists | The thread has a message with this id. | Give the new message an id of its own.
409 not_pending | The call does not wait for this client. | Load the thread for the calls that wait.
409 nothing_to_continue | The last turn of the thread is complete. | Send a message.
409 nothing_to_do | The thread has all that the request brings. | Send something new.
409 nothing_to_edit | The request that waits has no message. | Withdraw it, and send another.
409 queue_full | As many requests wait for the thread as `limit` lets. | Wait for the run, withdraw one of them, or raise the setting.
409 run_in_progress | The thread has a live run, `run_id`. | Attach to its `stream_url`, stop it at its `stop_url`, or wait for its end.
409 run_kept | A run is not deleted by itself: what it said is its thread's. | Delete the thread.
409 run_waits | A run of the thread waits for its turn, `run_id`. | Wait for its end, or cancel it.
409 thread_being_deleted | The thread is being deleted. | Start a new thread.
409 thread_changed | The thread has had another run since `based_on`: `run_id`, `run_state`, `updated_at`, `new_messages`. | Load the thread, and send the request again with the `run_id` if it still applies.
409 thread_exists | A thread has this id. | Send another id, or `if_exists: do_nothing`.
409 thread_too_large | The thread has reached `TURNSTREAM_MAX_THREAD_BYTES`. | Start a new thread.
409 too_much_feedback | The thread has feedback on as many messages as it can have. | Take some of it back.
409 too_many_assistants | The caller keeps 200 assistants. | Delete one of them.
409 too_many_pinned | 50 threads are pinned. | Unpin another thread first.
409 tool_name_taken | A tool of the server has the name of the client's tool. | Give the tool another name.
409 unknown_checkpoint | The thread has no such checkpoint. | Take a checkpoint of the thread's history.
409 unknown_interrupt | The thread has no such open interrupt. | Take an open interrupt of the thread.
409 unknown_message | The thread has no such message, perhaps since an edit. | Load the thread without `before`.
409 unknown_tool | The tool of the call is gone. | Decline the call.
413 body_too_large | The body has more bytes or more JSON values than the server takes. | Send a smaller body, or raise `TURNSTREAM_MAX_BODY_BYTES` or `TURNSTREAM_MAX_BODY_VALUES`.
415 not_json | The content type of the body is not JSON. | Send JSON with `Content-Type: application/json`.
422 client_tools_not_supported | The graph takes no tools of a client. | Send no tools.
422 conflicting_actions | The body asks for things that exclude each other. | Send them in requests of their own.
422 empty_message | The message has neither text nor an image. | Send text or an image.
422 idempotency_key_reused | The `Idempotency-Key` was sent with another body. | Send a new key.
422 images_not_supported | The model takes no images. | Send the message without them, or name another model.
422 images_too_large | The images of the message exceed `TURNSTREAM_MAX_IMAGE_BYTES`. | Send smaller images.
422 invalid_answer | The answer does not fit the call. | Send the form in `detail`.
422 invalid_approval | A decision is incomplete, or does not fit. | Send the form in `detail`.
422 invalid_arguments | The arguments do not fit the schema of the tool. | Send arguments that fit.
422 invalid_body | A value of the body has the wrong type or form. | Send the form in `detail`.
422 invalid_context | The graph does not take the values of `context`. | Correct the values.
422 invalid_credential | The credential is missing, or has characters that keys cannot have. | Send an API key or a token.
422 invalid_cursor | The list has no such cursor. | Begin without a cursor.
422 invalid_flag | The flag is neither true nor false. | Send `true` or `false`.
422 invalid_idempotency_key | The `Idempotency-Key` is empty or too long. | Send 1 to 255 characters.
422 invalid_image | The server does not take an image of the message. | Send a PNG, JPEG, GIF or WebP image as a `data:` URL, or an http(s) URL.
422 invalid_json_value | A value is not JSON, or nested too deep. | Send plain JSON.
422 invalid_limit | `limit` or `offset` is out of range. | Send a number in the range.
422 invalid_message_id | The id of a message has a character or a length that ids cannot have. | Use 1 to 64 of A-Z, a-z, 0-9, _ and -.
422 invalid_multitask_strategy | `multitask_strategy` is unknown. | Send `enqueue`, `reject` or `interrupt`.
422 invalid_on_busy | `on_busy` is unknown. | Send `reject`, `stop` or `queue`.
422 invalid_on_interrupt | `on_interrupt` is unknown. | Send `discard`, `reject` or `queue`.
422 invalid_protocol | `protocol` is no wire format. | Name one of the formats in `detail`.
422 invalid_query | `q` has no word, or too many words or characters. | Send 1 to 16 words in at most 200 characters.
422 invalid_resume | The answers do not fit the open interrupts. | Send one answer for each interrupt, by its id, that fits its `response_schema`.
422 invalid_state | `state` is no state of a run. | Send one of the states in `detail`.
422 invalid_stream_mode | A stream mode is unknown. | Ask for a mode in `detail`.
422 invalid_text | A text has half a surrogate pair. | Send whole characters.
422 invalid_thread_id | The id of the thread has a character or a length that ids cannot have. | Use 1 to 128 of A-Z, a-z, 0-9, _ and -, or send no id for a new thread.
422 invalid_title | The title is empty, too long, or has no visible character. | Send 1 to 200 characters.
422 invalid_tool | A tool of the client has an unsuitable name or schema. | Send unique names, and JSON Schemas of objects that are cheap to check.
422 invalid_trigger | `trigger` is unknown. | Send `submit-message` or `regenerate-message`.
422 message_too_long | The text of the request exceeds `TURNSTREAM_MAX_MESSAGE_CHARS`. | Send a shorter text.
422 missing_action | The body asks for nothing. | Send one of the keys in `detail`.
422 model_not_selectable | The graph has a model of its own. | Send no `model`.
422 not_confirmed | This deletes all your threads, keys and logins for good, and is not confirmed. | Send {"confirm": "..."} with your own id, which GET /me has.
422 search_off | The setting TURNSTREAM_SEARCH is false, so `q` finds nothing. | Leave `q` out.
422 too_many_images | The message exceeds `TURNSTREAM_MAX_IMAGES`. | Send fewer images.
422 too_many_tools | The client's tools are too many, or their schemas too large. | Send fewer tools, or smaller schemas.
422 tool_error | The tool refused the call. | Follow the tool's own `detail`.
422 unknown_graph | The server has no such graph. | Name one of `GET /graphs`.
422 unknown_key | The body has a key that the server does not know. | Leave the key out.
422 unknown_model | The server has no such model. | Name one of `GET /models`.
422 unknown_tool | `allowed_tools` names an unknown tool. | Name tools of `GET /tools`.
422 unsupported_checkpoint | A message can only replace a message of the user. | Take the checkpoint before the message that is to be replaced.
422 unsupported_command | A command has an unknown type. | Send a type in `detail`.
422 unsupported_message | A message of the input has another type. | Send human and tool messages.
422 unsupported_option | The server does not have the option. | Leave the option out.
422 unsupported_part | A part of the message has an unknown type. | Send a type in `detail`.
422 value_not_allowed | `context`, `configurable` or `input` has a value that a client may not set. | Leave the value out, or add its name to `TURNSTREAM_CLIENT_CONTEXT`.
422 value_too_long | A value beside the message is too long. | Send a shorter value.
429 limit_exceeded | A limit of the caller is used up, by the policy or by failed logins; `limit` and `value` name the limit. | Try again after `Retry-After` seconds.
500 internal_error | Something went wrong on the server; its log has the cause under `id`. | Report the `id` to the operator of the server.
500 tool_failed | The tool failed; the log has the cause under `id`. | Report the `id` to the operator of the server.
503 authentication_unavailable | The service that verifies credentials cannot be reached. | Try again in a moment.
503 database_gone | The server's database file was deleted or replaced. | Put the file back, or restart the server on the one that is there now.
503 guard_failed | An extension that is to admit each run failed, or took too long. | Try again in a moment; the server's log names the extension.
503 limit_reached | The server, or a caller's share of it, has reached the limit that `limit` names. | Try again after `Retry-After` seconds, or raise the setting.
503 shutting_down | The server is shutting down and takes no new runs. | Try again in a moment.
503 storage_busy | The server's database is locked by another program, or has too much to do. | Try again in a moment.
503 storage_failed | The server's database cannot be read or written. | The server's log says why.
503 storage_full | The disk of the server's database is full. | Free space on it, then try again; the server needs no restart.
503 storage_unreachable | The server's database cannot be reached. | Try again in a moment: the server connects again by itself.
503 streams_unavailable | The server's Redis cannot be reached, or takes nothing more, so no answer can be streamed. | Try again in a moment; threads can be read meanwhile.
503 thread_still_busy | Another run, or the deletion of the thread, has not ended within 15 seconds; it goes on. | Try again in a moment.
503 too_many_connections | The server has as many connections as it may have, and closes this one. | Try again in a moment, or raise TURNSTREAM_MAX_CONNECTIONS, whose default is half of the limit of open files.
504 tool_timeout | The tool reached its time limit. | Ask for less.
"""


class ProblemCode(NamedTuple):
    """A row of the table: a code with one of its statuses."""

    status: int
    code: str
    means: str
    remedy: str

    @classmethod
    def of(cls, row: str) -> "ProblemCode":
        status, code, sentences = row.split(" ", 2)
        means, remedy = sentences.removeprefix("| ").split(" | ")
        return cls(int(status), code, means, remedy)

    @property
    def sentences(self) -> str:
        return f"{self.means} {self.remedy}"


Problems = frozenset[ProblemCode]
NO_PROBLEMS: Problems = frozenset()
ALL: Problems = frozenset(map(ProblemCode.of, TABLE.splitlines()))
_NAMED: dict[str, Problems] = {}
for one in ALL:
    for name in (one.code, f"{one.status} {one.code}"):
        _NAMED[name] = _NAMED.get(name, NO_PROBLEMS) | {one}


def pick(*names: str) -> Problems:
    """Return the problems with these codes; `409 unknown_tool` is a code with one of its statuses.
    Raises KeyError for an unknown code."""
    return NO_PROBLEMS.union(*(_NAMED[name] for name in names))


def by_status(problems: Problems) -> Mapping[int, list[str]]:
    """Return the codes of each status, both in order."""
    statuses = sorted({problem.status for problem in problems})
    return {
        status: sorted(problem.code for problem in problems if problem.status == status)
        for status in statuses
    }


CONNECTION = pick("malformed_request", "request_timeout", "too_many_connections")
HOST = pick("malformed_request", "host_not_allowed", "authentication_not_set", "development_only")
CREDENTIALS = pick("unauthenticated", "authentication_unavailable")
NO_OPERATION = pick("http_error", "not_found", "method_not_allowed")
"""The problems of addresses and methods that no operation has."""
STORAGE = pick(
    *("storage_busy", "storage_full", "storage_unreachable", "streams_unavailable"),
    *("database_gone", "storage_failed"),
)
CAPACITY = pick("shutting_down", "limit_reached")
BODY = pick("malformed_json", "body_too_large", "not_json", "limit_reached")
BODY_FIELDS = pick(
    *("invalid_body", "unknown_key", "missing_action", "conflicting_actions", "empty_message"),
    *("message_too_long", "too_many_images", "images_too_large", "value_too_long", "invalid_text"),
    *("unsupported_part", "invalid_image", "invalid_thread_id", "invalid_message_id"),
    *("invalid_approval", "invalid_tool", "invalid_json_value", "invalid_protocol"),
    *("invalid_on_busy", "invalid_on_interrupt", "invalid_trigger", "unsupported_command"),
    "invalid_resume",
)
LANGGRAPH_FIELDS = pick(
    *("unknown_interrupt", "nothing_to_do", "invalid_body", "conflicting_actions"),
    *("unsupported_option", "unsupported_message", "unsupported_checkpoint"),
    *("invalid_stream_mode", "invalid_multitask_strategy", "invalid_resume", "invalid_approval"),
)
RUNS = pick(
    *("forbidden", "model_not_allowed", "tool_not_allowed", "not_pending", "already_answered"),
    *("approval_pending", "approval_expired", "409 unknown_tool", "unknown_message"),
    *("nothing_to_do", "nothing_to_continue", "message_exists", "interrupt_pending"),
    *("unknown_interrupt", "thread_too_large", "tool_name_taken", "thread_being_deleted"),
    *("graph_not_served", "graph_mismatch", "invalid_approval", "invalid_arguments"),
    *("invalid_answer", "invalid_tool", "too_many_tools", "client_tools_not_supported"),
    *("value_not_allowed", "invalid_context", "invalid_resume", "conflicting_actions"),
    *("unknown_graph", "model_not_selectable", "unknown_model", "422 unknown_tool"),
    *("idempotency_key_reused", "images_not_supported"),
)
START = (
    RUNS
    | CAPACITY
    | pick("run_in_progress", "queue_full", "thread_still_busy", "limit_exceeded", "guard_failed")
)
"""The problems of every request that starts a run."""
VERSION = pick("thread_not_found", "thread_changed")
TOOLS = pick(
    *("tool_not_allowed", "approval_required", "404 unknown_tool", "not_a_real_tool"),
    *("invalid_arguments", "tool_error", "tool_failed", "tool_timeout"),
)
