"""The server over HTTP: in the loop of the test, or as a process that is stopped and killed."""
