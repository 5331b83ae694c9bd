"""The fleet's raw rows in pandas, read past every query of ours, and a way to call its tools."""

import asyncio
import functools
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd

from turnstream.tools.solar import SOLAR_TOOLS
from turnstream.tools.solar.fleet import FLEET_FILE

TRUTH_FILE = Path(__file__).parent.parent / "data" / "solar-faults.json"
TOOLS = {tool.name: tool for tool in SOLAR_TOOLS}
YEAR = {"start": "2024-01-01", "end": "2024-12-31"}


def call(tool: str, **arguments: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the model gets and what the client gets."""
    asked = {"type": "tool_call", "id": "1", "name": tool, "args": arguments}
    message = asyncio.run(TOOLS[tool].ainvoke(asked))
    return json.loads(message.content), message.artifact


def ask(tool: str, **arguments: Any) -> dict[str, Any]:
    return call(tool, **arguments)[0]


def query(statement: str) -> pd.DataFrame:
    with closing(sqlite3.connect(f"{FLEET_FILE.as_uri()}?mode=ro", uri=True)) as connection:
        return pd.read_sql_query(statement, connection)


@functools.cache
def loggers() -> pd.DataFrame:
    """By logger_id: nameplate, site and time zone."""
    frame = query(
        "SELECT l.*, s.time_zone, s.number FROM logger AS l JOIN site AS s USING (site_id)"
    )
    frame["peak_kwp"] = (frame["strings_1"] + frame["strings_2"]) * frame["string_w"] / 1000
    return frame.set_index("logger_id", drop=False)


@functools.cache
def sky() -> pd.DataFrame:
    """Each site's sensors, a row a slot: number, slot, poa, module_c."""
    frame = query("SELECT * FROM plane")
    return frame.assign(number=frame["key"] // 40_000, slot=frame["key"] % 40_000).drop(
        columns="key"
    )


@functools.cache
def readings() -> pd.DataFrame:
    """Every reading, with the local time of its start (`at`, `day`) and the site's sensors."""
    frame = query("SELECT * FROM reading")
    frame = frame.assign(logger_id=frame["key"] // 40_000, slot=frame["key"] % 40_000)
    frame = frame.merge(loggers().reset_index(drop=True), on="logger_id")
    frame = frame.merge(sky(), on=["number", "slot"])
    start = pd.Timestamp("2024-01-01", tz="UTC") + pd.to_timedelta(frame["slot"] * 15, unit="min")
    frame["utc"] = start
    frame["at"] = ""
    frame["day"] = ""
    for zone, part in start.groupby(frame["time_zone"]):
        local = part.dt.tz_convert(str(zone))
        frame.loc[part.index, "at"] = local.dt.strftime("%Y-%m-%dT%H:%M")
        frame.loc[part.index, "day"] = local.dt.strftime("%Y-%m-%d")
    frame["corrected"] = frame["poa"] * (1 + frame["gamma"] * (frame["module_c"] - 25))
    return frame.sort_values(["logger_id", "slot"], ignore_index=True)


def window(start: str, end: str, *logger_ids: int) -> pd.DataFrame:
    """The readings of local days, both included; of all loggers if none is named."""
    frame = readings()
    inside = frame["day"].between(start, end)
    if logger_ids:
        inside &= frame["logger_id"].isin(logger_ids)
    return frame[inside]


def kwh(frame: pd.DataFrame) -> float:
    return float(frame["ac_w"].sum()) / 4 / 1000


@functools.cache
def truth() -> list[dict[str, Any]]:
    known: list[dict[str, Any]] = json.loads(TRUTH_FILE.read_text(encoding="utf-8"))["faults"]
    return known


def faults(kind: str) -> list[dict[str, Any]]:
    return [fault for fault in truth() if fault["kind"] == kind]
