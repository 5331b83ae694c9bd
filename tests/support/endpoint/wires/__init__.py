"""The wires that the endpoint speaks, by address.

    POST /v1/chat/completions                            OpenAI's, in `tests.support.endpoint.wire`
    POST /v1/messages                                    anthropic
    POST /v1beta/models/{model}:streamGenerateContent    gemini
    POST /api/chat                                       ollama
    POST /v1/responses                                   responses (OpenAI's)

    wire     what each can do        asked    a request, and what its rules may know
    shapes   bodies as pydantic models        seals    signatures

Each has rules of what it refuses, and plays a scripted reply in its own form. What it has signed
it knows again: a `Seals` belongs to one endpoint.
"""
