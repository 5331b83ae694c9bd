"""Several graphs of one langgraph.json, served by one server: named by a body, and each thread's
own."""
