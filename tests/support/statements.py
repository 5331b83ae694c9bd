"""One cache of compiled statements for all databases of a test process: a server compiles each of
its statements once, tests would do so for each of their many databases."""

from typing import Any

from sqlalchemy import Connection, Engine, event


class CompiledStatements(dict[tuple[Any, ...], Any]):
    """By statement and kind of database. SQLAlchemy's own keys begin with the dialect of one
    engine; all engines of a kind are set up alike."""

    def get(self, key: tuple[Any, ...], default: Any = None) -> Any:
        return super().get((type(key[0]), *key[1:]), default)

    def __setitem__(self, key: tuple[Any, ...], compiled: Any) -> None:
        super().__setitem__((type(key[0]), *key[1:]), compiled)


COMPILED = CompiledStatements()


def share_compiled_statements() -> None:
    """From now on all connections use the one cache."""

    @event.listens_for(Engine, "engine_connect")
    def shared(connection: Connection) -> None:
        connection.execution_options(compiled_cache=COMPILED)
