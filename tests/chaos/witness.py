"""The database itself as a witness: triggers that record each change of a claim, and each write
to a thread with the claim of that moment."""

import json
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.chaos.records import Claim, ClaimChange, Write
from tests.support.private_engines import APPLICATION

_SQLITE = """
CREATE TABLE chaos_claims (
  number INTEGER PRIMARY KEY AUTOINCREMENT, at REAL, thread_id TEXT, old TEXT, new TEXT
);
CREATE TRIGGER chaos_claim_made AFTER INSERT ON claims BEGIN
  INSERT INTO chaos_claims (at, thread_id, old, new) VALUES
    ({now}, NEW.thread_id, NULL, {new});
END;
CREATE TRIGGER chaos_claim_changed AFTER UPDATE ON claims BEGIN
  INSERT INTO chaos_claims (at, thread_id, old, new) VALUES
    ({now}, NEW.thread_id, {old}, {new});
END;
CREATE TRIGGER chaos_claim_gone AFTER DELETE ON claims BEGIN
  INSERT INTO chaos_claims (at, thread_id, old, new) VALUES
    ({now}, OLD.thread_id, {old}, NULL);
END;
"""
_NOW = "(julianday('now') - 2440587.5) * 86400.0"
_ROW = "json_object('run_id', {row}.run_id, 'purpose', {row}.purpose)"


def watch_file(database: Path) -> None:
    """Of a SQLite file that a server has made, and that no server has open."""
    script = _SQLITE.format(now=_NOW, new=_ROW.format(row="NEW"), old=_ROW.format(row="OLD"))
    with closing(sqlite3.connect(database)) as connection:
        connection.executescript(script)


def claims_of_file(database: Path) -> list[ClaimChange]:
    with closing(sqlite3.connect(database)) as connection:
        rows = connection.execute("SELECT number, at, thread_id, old, new FROM chaos_claims")
        return [
            ClaimChange(number, at, number, thread, _claim(old), _claim(new))
            for number, at, thread, old, new in rows
        ]


def _claim(row: str | Mapping[str, Any] | None) -> Claim | None:
    if row is None:
        return None
    values = json.loads(row) if isinstance(row, str) else row
    return Claim(
        values["run_id"],
        values["purpose"],
        values.get("worker") or "",
        float(values.get("lease_until") or 0.0),
    )


POSTGRES = """
CREATE TABLE chaos_claims (
  number bigserial PRIMARY KEY, at float8, transaction bigint, thread_id text,
  old jsonb, new jsonb
);
CREATE TABLE chaos_writes (
  number bigserial PRIMARY KEY, at float8, transaction bigint, written text, operation text,
  thread_id text, application text, claim jsonb
);
CREATE FUNCTION chaos_row(held claims) RETURNS jsonb LANGUAGE sql AS $$
  SELECT CASE WHEN held IS NULL THEN NULL ELSE jsonb_build_object(
    'run_id', held.run_id, 'purpose', held.purpose, 'worker', held.worker,
    'lease_until', extract(epoch FROM held.lease_until)) END
$$;
CREATE FUNCTION chaos_claim() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE old_row jsonb; new_row jsonb; thread text;
BEGIN
  IF TG_OP <> 'INSERT' THEN old_row := chaos_row(OLD); thread := OLD.thread_id; END IF;
  IF TG_OP <> 'DELETE' THEN new_row := chaos_row(NEW); thread := NEW.thread_id; END IF;
  INSERT INTO chaos_claims (at, transaction, thread_id, old, new) VALUES (
    extract(epoch FROM clock_timestamp()), txid_current(), thread, old_row, new_row);
  RETURN NULL;
END $$;
CREATE FUNCTION chaos_write() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE written jsonb; thread text; held jsonb;
BEGIN
  IF TG_OP = 'DELETE' THEN written := to_jsonb(OLD); ELSE written := to_jsonb(NEW); END IF;
  thread := coalesce(written->>'thread_id', written->>'id');
  SELECT chaos_row(c) INTO held FROM claims c WHERE c.thread_id = thread;
  INSERT INTO chaos_writes (at, transaction, written, operation, thread_id, application, claim)
  VALUES (extract(epoch FROM clock_timestamp()), txid_current(), TG_TABLE_NAME, TG_OP, thread,
    current_setting('application_name'), held);
  RETURN NULL;
END $$;
CREATE TRIGGER chaos AFTER INSERT OR UPDATE OR DELETE ON claims
  FOR EACH ROW EXECUTE FUNCTION chaos_claim();
CREATE TRIGGER chaos AFTER INSERT OR UPDATE OR DELETE ON checkpoints
  FOR EACH ROW EXECUTE FUNCTION chaos_write();
CREATE TRIGGER chaos AFTER INSERT OR UPDATE OR DELETE ON checkpoint_writes
  FOR EACH ROW EXECUTE FUNCTION chaos_write();
CREATE TRIGGER chaos AFTER INSERT OR UPDATE OR DELETE ON checkpoint_blobs
  FOR EACH ROW EXECUTE FUNCTION chaos_write();
CREATE TRIGGER chaos_made AFTER INSERT OR DELETE ON threads
  FOR EACH ROW EXECUTE FUNCTION chaos_write();
CREATE TRIGGER chaos_run AFTER UPDATE OF run_id, run_state ON threads
  FOR EACH ROW EXECUTE FUNCTION chaos_write();
"""
CLAIMS = "SELECT number, at, transaction, thread_id, old, new FROM chaos_claims ORDER BY number"
WRITES = (
    "SELECT number, at, transaction, written, operation, thread_id, application, claim "
    "FROM chaos_writes ORDER BY number"
)


def claims_of_rows(rows: Iterable[tuple[Any, ...]]) -> list[ClaimChange]:
    return [
        ClaimChange(number, at, transaction, thread, _claim(old), _claim(new))
        for number, at, transaction, thread, old, new in rows
    ]


def writes_of_rows(rows: Iterable[tuple[Any, ...]]) -> list[Write]:
    return [
        Write(number, at, transaction, table, operation, thread, _worker(name), _claim(claim))
        for number, at, transaction, table, operation, thread, name, claim in rows
    ]


def _worker(application: str) -> str:
    return application.removeprefix(APPLICATION)
