"""Runs of a graph without HTTP: a scripted model, a real checkpointer, SQLite in `tmp_path`."""
