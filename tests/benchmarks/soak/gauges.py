"""What is read of a server while it is used: from its own metrics, and from its files."""

import sqlite3
import statistics
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from prometheus_client.parser import text_string_to_metric_families

from tests.benchmarks.processes import Process
from tests.benchmarks.soak.trends import Figure
from tests.support.waiting import eventually

MIB, KIB = 1024**2, 1024

MEMORY = Figure("memory", "MiB", floor=12, share=0.05)
FILES = Figure("open files", "", floor=16)
TASKS = Figure("tasks", "", floor=32)
LAG = Figure("loop lag", "ms", floor=20)
HEADERS = Figure("headers of a turn", "ms", floor=30, share=0.5)
CPU = Figure("CPU a run", "ms", floor=15, share=0.5)
THREAD = Figure("database a thread", "KiB", floor=24, share=0.2)
WAL = Figure("write-ahead log", "MiB", floor=8)
FIGURES = (MEMORY, FILES, TASKS, LAG, HEADERS, CPU, THREAD, WAL)

MAY_STAY = {"tasks": 4, "open files": 8}

Counts = Mapping[str, float]


def read(text: str) -> Counts:
    """Sums by name of Prometheus's text; of histograms only sums and counts, of labels `method` and
    `route`."""
    sums: dict[str, float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if "le" not in sample.labels:
                request = filter(None, map(sample.labels.get, ("method", "route")))
                name = " ".join([sample.name, *request])
                sums[name] = sums.get(name, 0.0) + sample.value
    return sums


@dataclass(frozen=True)
class Rest:
    """What a server has that nobody uses."""

    counts: Counts

    def more_than(self, before: "Rest") -> list[str]:
        """What it has more of than it had, but for threads of pools and what they have open."""
        return [
            f"{count - before.counts[name]:.0f} {name}"
            for name, count in self.counts.items()
            if count - before.counts[name] > MAY_STAY.get(name, 0)
        ]


@dataclass
class Gauges:
    """Reads one server again and again."""

    process: Process
    http: httpx.AsyncClient
    """To its metrics."""
    database: Path
    points: dict[Figure, list[tuple[float, float]]] = field(default_factory=dict)
    counts: Counts = field(default_factory=dict)
    """Of the last look."""
    _began: float = field(default_factory=time.monotonic)

    async def look(self) -> Counts:
        """All counters, without keeping them."""
        return read((await self.http.get("/metrics")).raise_for_status().text)

    async def begun(self) -> None:
        """Wait until the server has counted its tasks; before that, it says that there are none."""
        await eventually(self._has_counted)

    async def _has_counted(self) -> bool:
        return (await self.look())["turnstream_event_loop_lag_seconds_count"] >= 2

    async def rest(self) -> Rest:
        counts = await self.look()
        return Rest(
            {
                "live runs": counts["turnstream_live_runs"],
                "open streams": counts["turnstream_open_streams"],
                "tasks": counts["turnstream_tasks"],
                "open files": self.process.open_files(),
            }
        )

    async def sample(self) -> None:
        """Keep what there is now, and of counters what has come since the last sample."""
        before, self.counts = self.counts, await self.look()
        at = time.monotonic() - self._began

        def keep(figure: Figure, value: float | None) -> None:
            if value is not None:
                self.points.setdefault(figure, []).append((at, value))

        def since(name: str) -> float:
            return self.counts.get(name, 0.0) - before.get(name, 0.0)

        def mean(sum_of: str, of: str) -> float | None:
            return 1000 * since(sum_of) / since(of) if before and since(of) else None

        headers = "turnstream_response_headers_seconds"
        lag = "turnstream_event_loop_lag_seconds"
        keep(MEMORY, self.process.memory_bytes() / MIB)
        keep(FILES, self.process.open_files())
        keep(TASKS, self.counts["turnstream_tasks"])
        keep(LAG, mean(f"{lag}_sum", f"{lag}_count"))
        keep(HEADERS, mean(f"{headers}_sum POST /chat", f"{headers}_count POST /chat"))
        keep(CPU, mean("process_cpu_seconds_total", "turnstream_runs_total"))
        keep(THREAD, self._bytes_a_thread() / KIB)
        keep(WAL, self._log_bytes() / MIB)

    def middle(self, figure: Figure, samples: int) -> float:
        """Median of the last so many, 0 if there is none."""
        last = [value for _, value in self.points.get(figure, ())][-samples:]
        return statistics.median(last) if last else 0.0

    def _bytes_a_thread(self) -> float:
        """Of the database as its readers see it: the file alone is behind by what is in the log, by
        several MiB at times."""
        with closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True)) as connection:
            [threads] = connection.execute("SELECT count(*) FROM threads").fetchone()
            [pages] = connection.execute("PRAGMA page_count").fetchone()
            [bytes_a_page] = connection.execute("PRAGMA page_size").fetchone()
        return float(pages * bytes_a_page / max(1, threads))

    def _log_bytes(self) -> int:
        log = self.database.with_name(f"{self.database.name}-wal")
        return log.stat().st_size if log.exists() else 0
