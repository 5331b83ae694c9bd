"""Which loggers are meant: "inverter 3", "3", "site A", "Miami", "fleet"."""

import difflib
import re
from dataclasses import dataclass
from typing import Any

from turnstream.tools.solar.answers import Refusal, invalid, shown
from turnstream.tools.solar.fleet import Fleet, Logger, Site

_LOGGER = re.compile(r"(?:inverter|inv|logger|unit|number|no)? ?0*([0-9]{1,6})")
_WORD = re.compile(r"[^\W_]+")
_SITE = re.compile(r"(?:site|plant) (.+)")
_WHOLE = {"fleet", "the fleet", "all", "everything", "whole fleet", "the whole fleet"}
_MAX_CHARS = 200


@dataclass(frozen=True, slots=True)
class Target:
    """A logger, a site or the fleet, with the loggers that it stands for."""

    kind: str
    name: str
    loggers: tuple[Logger, ...]

    @property
    def ids(self) -> str:
        """The loggers' ids as a JSON array, for `json_each(?)`."""
        return f"[{', '.join(str(one.logger_id) for one in self.loggers)}]"

    def described(self) -> dict[str, Any]:
        zones = sorted({one.site.time_zone for one in self.loggers})
        return {"kind": self.kind, "name": self.name, "time_zones": zones}


def find_target(fleet: Fleet, asked: str | int, argument: str = "target") -> Target:
    """Raises Refusal with near matches when nothing has that name."""
    text = _plain(asked)
    if text in _WHOLE or asked == "":
        return Target("fleet", "Fleet", fleet.loggers)
    logger = _logger(fleet, text)
    if logger:
        return Target("logger", logger.name, (logger,))
    site = _site(fleet, text)
    if site:
        loggers = tuple(one for one in fleet.loggers if one.site == site)
        return Target("site", site.label, loggers)
    raise _unknown(fleet, asked, argument, ["fleet", *_sites(fleet), *_loggers(fleet)])


def find_logger(fleet: Fleet, asked: str | int, argument: str = "logger") -> Logger:
    """Raises Refusal with near matches when no logger has that name."""
    logger = _logger(fleet, _plain(asked))
    if logger is None:
        raise _unknown(fleet, asked, argument, _loggers(fleet))
    return logger


def find_site(fleet: Fleet, asked: str, argument: str = "site") -> Site:
    """Raises Refusal with near matches when no site has that name."""
    site = _site(fleet, _plain(asked))
    if site is None:
        raise _unknown(fleet, asked, argument, _sites(fleet))
    return site


def _plain(asked: str | int) -> str:
    """Small letters, digits and single blanks; anything else only separates."""
    text = str(asked)[:_MAX_CHARS].casefold().strip()
    words = _WORD.findall(text)
    return " ".join(["minus", *words] if text.startswith("-") else words)


def _logger(fleet: Fleet, text: str) -> Logger | None:
    match = _LOGGER.fullmatch(text)
    number = int(match[1]) if match else None
    return next((one for one in fleet.loggers if one.logger_id == number), None)


def _site(fleet: Fleet, text: str) -> Site | None:
    match = _SITE.fullmatch(text)
    name = match[1] if match else text
    for site in fleet.sites:
        full = _plain(site.name)
        if name in {site.site_id.casefold(), full, _plain(site.label).removeprefix("site ")}:
            return site
    starts = [site for site in fleet.sites if len(name) > 2 and _plain(site.name).startswith(name)]
    return starts[0] if len(starts) == 1 else None


def _loggers(fleet: Fleet) -> list[str]:
    return [one.name for one in fleet.loggers]


def _sites(fleet: Fleet) -> list[str]:
    return [site.label for site in fleet.sites]


def _unknown(fleet: Fleet, asked: object, argument: str, allowed: list[str]) -> Refusal:
    known = {_plain(name): name for name in allowed}
    for site in fleet.sites:
        if site.label in allowed:
            known |= dict.fromkeys([_plain(site.name), *_plain(site.name).split()], site.label)
    close = difflib.get_close_matches(_plain(str(asked)), known, n=3, cutoff=0.5)
    return invalid(
        argument,
        f"there is no {shown(asked)}.",
        allowed,
        near_matches=list(dict.fromkeys(known[name] for name in close)),
    )
