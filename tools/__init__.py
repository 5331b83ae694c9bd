"""The catalogue: what a model can call. A new tool is its file and its line here."""

from pkgutil import resolve_name

from langchain_core.tools import BaseTool

from tools.catalogue import Catalogue
from tools.contract import UITool

REAL: tuple[BaseTool, ...] = (
    resolve_name("tools.calculator:calculator"),
    resolve_name("tools.calculator:multiply"),
    resolve_name("tools.clock:get_current_time"),
    resolve_name("tools.units:convert_units"),
    *resolve_name("tools.solar:SOLAR_TOOLS"),
)

UI: tuple[UITool, ...] = (
    resolve_name("tools.ui:render_ui_component"),
    resolve_name("tools.ui:request_user_selection"),
)

CATALOGUE = Catalogue(REAL, UI)
