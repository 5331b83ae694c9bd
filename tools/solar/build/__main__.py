"""`python -P -m turnstream.tools.solar.build [--check]`: make the fleet's data, or prove that it
can be made."""

import argparse
import hashlib
import json
import sys
import tempfile
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pandas as pd

from turnstream.tools.solar.build import faults, file, plant
from turnstream.tools.solar.build.sites import LOGGERS, SEED, SITES, YEAR, Logger, Site
from turnstream.tools.solar.build.weather import Weather, local_midnight, observe

_FLEET = Path(__file__).parents[1] / "fleet.sqlite"
_TRUTH = Path(__file__).parents[3] / "tests" / "data" / "solar-faults.json"
_DAYS = (date(YEAR + 1, 1, 1) - date(YEAR, 1, 1)).days


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -P -m turnstream.tools.solar.build", description=__doc__
    )
    parser.add_argument("--check", action="store_true", help="compare with the files, write none")
    if not parser.parse_args().check:
        _make(_FLEET, _TRUTH)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        fleet, truth = Path(folder, "fleet.sqlite"), Path(folder, "faults.json")
        _make(fleet, truth)
        pairs = ((fleet, _FLEET), (truth, _TRUTH))
        different = [old.name for new, old in pairs if new.read_bytes() != old.read_bytes()]
    _say(f"different: {', '.join(different)}" if different else "the same bytes")
    return 1 if different else 0


def _make(fleet: Path, truth: Path) -> None:
    tables: dict[str, list[tuple[Any, ...]]] = {
        "meta": [
            ("first_day", date(YEAR, 1, 1).isoformat()),
            ("last_day", date(YEAR, 12, 31).isoformat()),
            ("seed", str(SEED)),
        ],
        "site": [_site_row(site) for site in SITES],
        "logger": [_logger_row(logger) for logger in LOGGERS],
        "reading": [],
        "plane": [],
        "event": [],
        "site_day": [],
    }
    known: list[dict[str, Any]] = []
    for site in SITES:
        _say(f"site {site.site_id}: weather")
        weather = observe(site)
        sensed = plant.sense(weather, site.number)
        columns = pd.DataFrame({"poa": sensed.poa, "module_c": sensed.module_c})
        tables["plane"] += file.keyed(site.number, columns)
        tables["site_day"] += _site_days(site, weather)
        for logger in (one for one in LOGGERS if one.site_id == site.site_id):
            _say(f"site {site.site_id}: {logger.name}")
            readings, events, facts = _logger_rows(logger, sensed, site.time_zone)
            tables["reading"] += readings
            tables["event"] += events
            known += facts
    _say("file")
    file.write(fleet, tables)
    hashes = {
        "file_sha256": hashlib.sha256(fleet.read_bytes()).hexdigest(),
        "content_sha256": file.content_hash(fleet),
    }
    _write_truth(truth, hashes, known)
    _say(f"{fleet.stat().st_size / 1e6:.2f} MB, {len(known)} facts")


def _write_truth(path: Path, hashes: dict[str, str], known: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(f"    {json.dumps(row)}" for row in known)
    head = ",\n".join(f'  "{name}": "{value}"' for name, value in hashes.items())
    path.write_text(f'{{\n{head},\n  "faults": [\n{lines}\n  ]\n}}\n', encoding="utf-8")


def _site_row(site: Site) -> tuple[Any, ...]:
    return (
        site.site_id,
        site.name,
        site.time_zone,
        site.latitude,
        site.longitude,
        site.mounting,
        site.number,
    )


def _logger_row(logger: Logger) -> tuple[Any, ...]:
    commissioned = logger.commissioned.toordinal() if logger.commissioned else None
    return (
        logger.logger_id,
        logger.name,
        logger.site_id,
        logger.rated_w,
        *logger.strings,
        logger.string_w,
        logger.gamma,
        commissioned,
    )


def _site_days(site: Site, weather: Weather) -> list[tuple[Any, ...]]:
    index = pd.DatetimeIndex(weather.clear_poa.index)
    clear = dict(zip(file.slots(index), weather.clear_poa.tolist(), strict=True))
    rows = []
    for offset in range(_DAYS + 14):
        day = date(YEAR, 1, 1) + timedelta(days=offset)
        edges = [local_midnight(day + timedelta(days=n), site.time_zone) for n in (0, 1)]
        first, after = file.slots(pd.DatetimeIndex(edges).tz_convert("UTC"))
        total = round(sum(clear.get(slot, 0.0) for slot in range(first, after)))
        rows.append((site.site_id, day.toordinal(), first, after - first, total))
    return rows


def _logger_rows(
    logger: Logger, sensed: plant.Plane, time_zone: str
) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]], list[dict[str, Any]]]:
    dc, limit = faults.spoil(logger, plant.potential(logger, sensed), time_zone)
    lost = faults.lost_slots(logger, pd.DatetimeIndex(dc.index), time_zone)
    readings = plant.deliver(logger, dc, limit)[~lost]
    if logger.commissioned is None:
        return [], [], []
    events = [
        (logger.logger_id, *_event_slots(fault, time_zone))
        for fault in faults.of(logger, *faults.KINDS)
        if fault.code is not None
    ]
    facts = faults.truth(logger, dc, limit, time_zone)
    return list(file.keyed(logger.logger_id, readings)), events, facts


def _event_slots(fault: faults.Fault, time_zone: str) -> tuple[int, int | None, int | None]:
    def slot(at: str) -> int:
        return file.slots(pd.DatetimeIndex([pd.Timestamp(at, tz=time_zone)]).tz_convert("UTC"))[0]

    return slot(fault.start), fault.code, slot(fault.end) if fault.end else None


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())
