"""What tests share.

serving           the server over HTTP, in the loop of the test or as a process
forked_server     the same, forked: it starts at once, for tests that kill it often
scripted_server   the server on `sample_tools` and a scripted endpoint
contracts         what any implementation of the storage must do, as classes of tests
backend           the server without HTTP: checkpoints, runs and the store
endpoint          a strict OpenAI-compatible endpoint that plays scripted replies
provider_refusal  what that endpoint would refuse in a prompt
users             callers of a server that authenticates: keys, sessions, a proxy's headers
issuer            an OpenID Connect issuer that signs tokens and misbehaves
audit_rows        the audit trail, as tests read it
scripted_model    a chat model that streams scripted chunks
counting_tools    tools that can be counted, held and made to fail
sample_tools      tools that work, refuse, hang and report progress
run_chunks        the chunks of a run, read by call, text, result and error
served_run        a run as its clients have it, in every wire format
chunk_grammar     the order that chunks must keep
protocol_readers  strict readers of the wire formats, each by one client's rules
sse_frames        the bytes of event streams, split into events
example_conversation, random_turns, random_histories, ui_schema   data and strategies
offline_model, tool_invocation, solar_raw                         ways to call a model and tools
watchdog          a server process under attack, and whether it answers others meanwhile
health_poller     the process that asks it
hostile_bodies, hostile_schemas, hostile_models   attacks of any size, and strategies for more
heavy_graph       tools that hold the event loop, or return too much
long_list         a list of many threads
foreign_lock      another program's transaction on the database
small_disk        a server on a disk that can be filled
reverse_proxies   nginx and Caddy before the server, as docs/deploy.md configures them
earlier_installation   what an earlier version leaves, and how it is recorded
code_blocks       the code blocks of documents, and how each is tested
docs_site         the documents as a site
versions, packages, advisories, distributions   other versions, licences, vulnerabilities, builds
statements        one cache of compiled SQL for all databases of a test process
settings_page, problem_table      tables of documents, made from the code
cutting_proxy, environment, hypothesis_settings, waiting          network, settings, time
"""
