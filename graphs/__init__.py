if __name__ != "turnstream.graphs":
    raise ImportError("the package is turnstream.graphs")
