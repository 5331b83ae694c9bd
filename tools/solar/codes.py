"""The error codes of this fleet's inverters: what they mean and what to do.

The list is the fleet's own, in the manner of string inverters; it is no maker's.
"""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Code:
    """`severity`: info (nothing lost), warning (less power), fault (no power)."""

    code: int
    meaning: str
    severity: str
    causes: tuple[str, ...]
    action: str

    def described(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "meaning": self.meaning,
            "severity": self.severity,
            "causes": list(self.causes),
            "action": self.action,
        }


CODES = {
    entry.code: entry
    for entry in (
        Code(
            1101,
            "Grid voltage below its limit",
            "info",
            ("voltage dip in the grid", "weak or long feeder"),
            "None if it stays rare. If it repeats, have the voltage recorded at the connection.",
        ),
        Code(
            1102,
            "Grid voltage above its limit: inverter disconnected",
            "fault",
            ("many plants feed in on one feeder", "cable to the connection too thin"),
            "Restarts by itself. If it repeats, ask the grid operator and check the cable's drop.",
        ),
        Code(
            1201,
            "Grid lost: frequency or voltage absent",
            "fault",
            ("outage of the grid", "main breaker open"),
            "Check the main breaker; if all inverters of the site show it, ask the grid operator.",
        ),
        Code(
            2104,
            "Insulation resistance too low on the DC side",
            "fault",
            ("moisture in a connector", "damaged cable or module", "water in a junction box"),
            "Do not touch the array. Have the strings measured one by one against earth.",
        ),
        Code(
            2201,
            "String current missing on one input",
            "warning",
            ("string fuse blown", "connector open", "module bypassed or broken"),
            "Measure the strings of that input; replace the fuse, or mend the open connector.",
        ),
        Code(
            2302,
            "Arc detected on the DC side: inverter stopped",
            "fault",
            ("loose connector", "damaged cable", "false alarm through interference"),
            "Inspect connectors and cables before the fault is reset by hand.",
        ),
        Code(
            3105,
            "Heat sink too hot: output power reduced (derating)",
            "warning",
            ("air inlet or filter blocked", "fan failed", "inverter in the sun, or hot room"),
            "Clean inlets and filter, check the fans, shade or ventilate the place.",
        ),
        Code(
            3106,
            "Fan runs too slowly or not at all",
            "warning",
            ("dirt in the fan", "bearing worn out"),
            "Clean or replace the fan soon: code 3105 follows on hot days.",
        ),
        Code(
            4001,
            "No communication with the logger",
            "warning",
            ("router or mobile network down", "logger without power", "RS-485 line open"),
            "Check the logger's power and network. The inverter itself may be running.",
        ),
        Code(
            4102,
            "Logger's clock was wrong and has been set",
            "info",
            ("battery of the clock empty", "time server not reached"),
            "None if it stays rare; else replace the battery.",
        ),
        Code(
            5003,
            "Grid relay failed its self-test",
            "fault",
            ("relay contact welded or worn", "fault on the control board"),
            "Restart once. If it returns, have the inverter serviced.",
        ),
    )
}
