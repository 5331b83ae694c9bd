if __name__ != "turnstream.tools":
    raise ImportError("the package is turnstream.tools")
