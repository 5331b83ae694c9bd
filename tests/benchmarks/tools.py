"""How long each real tool takes, over the whole year where it takes a window: `name: value` lines.
Those of maintenance are left out: they write, and cannot be called the same way twice.

A tool of the fleet whose median is over LIMIT_MS is flagged.
"""

import asyncio
import json
import statistics
import time
from functools import partial
from typing import Any

from langchain_core.messages import ToolCall
from langchain_core.tools import BaseTool

from turnstream.graphs.execution import execute
from turnstream.graphs.limits import Limits
from turnstream.graphs.stored import end_of
from turnstream.tools.builtin import CATALOGUE

ROUNDS, WARM_UP = 21, 2
LIMIT_MS = 50

YEAR = {"start": "2024-01-01", "end": "2024-12-31"}
ARGS: dict[str, dict[str, Any]] = {
    "calculator": {"expression": "sqrt(2) * 17 ^ 3"},
    "multiply": {"a": 6, "b": 7},
    "get_current_time": {"timezone": "Asia/Tokyo"},
    "convert_units": {"value": 5, "from_unit": "km", "to_unit": "mile"},
    "list_loggers": {},
    "get_fleet_overview": YEAR,
    "analyze_inverter_health": {"logger": 7, **YEAR},
    "get_power_curve": {"logger": 3, **YEAR},
    "compare_loggers": {"targets": list(range(1, 13)), **YEAR},
    "calculate_financial_savings": YEAR,
    "calculate_performance_ratio": YEAR,
    "forecast_production": {"days": 7},
    "diagnose_error_codes": YEAR,
}
LEFT_OUT = {"schedule_maintenance", "list_maintenance", "cancel_maintenance"}


async def milliseconds(tool: BaseTool, args: dict[str, Any]) -> float:
    """A call as a run makes it, its checks and the size of its result included."""
    call = ToolCall(type="tool_call", id="c1", name=tool.name, args=args)
    start = time.perf_counter()
    message = await execute(call, partial(tool.ainvoke, call), Limits())
    took = (time.perf_counter() - start) * 1000
    status = json.loads(message.text).get("status", "ok")
    assert (end_of(message), status) == ("result", "ok"), message.text[:200]
    return took


async def main() -> None:
    slow = []
    for tool in CATALOGUE.real:
        if tool.name in LEFT_OUT:
            continue
        args = ARGS[tool.name]
        times = [await milliseconds(tool, args) for _ in range(WARM_UP + ROUNDS)]
        median, most = statistics.median(times[WARM_UP:]), max(times[WARM_UP:])
        print(f"{tool.name}: p50, ms: {median:.1f} (most {most:.1f}, first {times[0]:.1f})")
        if median > LIMIT_MS:
            slow.append(tool.name)
    print(f"tools with a p50 over {LIMIT_MS} ms: {', '.join(slow) or 'none'}")


if __name__ == "__main__":
    asyncio.run(main())
