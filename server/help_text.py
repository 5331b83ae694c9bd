"""The text of `--help`: one screen. A test compares its options with the settings."""

HELP = """\
usage: turnstream [dev] [GRAPH] [OPTION ...]
       turnstream new NAME
       turnstream {keys,threads,audit,extensions,migrate,doctor} --help

Serve a LangGraph graph to browsers. GRAPH is file.py:name, module:name or a
langgraph.json; without it, the langgraph.json of this folder or the built-in graph.
`turnstream dev` tells its developer what a graph raises, and reloads its files;
`turnstream doctor` examines settings, database, Redis, model and proxy.

Server
  --host ADDRESS           address to listen on (127.0.0.1)
  --port PORT              port to listen on; 0: a free one (8000)
  --allowed-hosts LIST     host names that requests may be sent to
  --allowed-origins LIST   origins of other sites whose pages may call
  --log-format {text,json} format of the log on stderr (text)
  --[no-]debug             show the traceback when a graph cannot be loaded
Models and tools
  --model MODEL            anthropic:NAME, google_genai:NAME, ollama:NAME, openai:NAME,
                           NAME, offline or auto (auto)
  --models LIST            further models that a request may name
  --openai-base-url URL    any OpenAI-compatible server
  --system-prompt TEXT     text, or @path of a file
  --mcp FILE               MCP servers whose tools join the catalogue
Storage
  --database FILE|URL      SQLite file, or postgresql:// URL for several workers
                           (turnstream.db)
  --redis URL              redis:// URL that several workers share
Users
  --auth LIST              keys, jwt, header, module:function or off (off)
  --policy FILE            rights of roles, as TOML
Limits of a run
  --max-steps N            model calls in one run (12)
  --max-run-seconds SECONDS
                           seconds a run may take (300)
Observation
  --metrics-port PORT      port of GET /metrics, for Prometheus
  --[no-]traces            make OpenTelemetry spans

--version prints the version. --help all lists every option, with its type and default.
Each option is an environment variable too: --max-steps is TURNSTREAM_MAX_STEPS. The
model's key is OPENAI_API_KEY, and in the environment only. A LIST is comma-separated.
"""
