if __name__ != "turnstream.server":
    raise ImportError(
        "the package is turnstream.server: run `turnstream`, `python -P -m turnstream.server`, or "
        "`uvicorn turnstream.server.app:create --factory`"
    )
