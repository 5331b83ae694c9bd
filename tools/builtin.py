"""The tools that this server has: a new tool is its file and its line here."""

from langchain_core.tools import BaseTool

from turnstream.tools.calculator import calculator, multiply
from turnstream.tools.catalogue import Catalogue
from turnstream.tools.clock import get_current_time
from turnstream.tools.contract import UITool
from turnstream.tools.solar import SOLAR_TOOLS
from turnstream.tools.ui import render_ui_component, request_user_selection
from turnstream.tools.units import convert_units

REAL: tuple[BaseTool, ...] = (
    calculator,
    multiply,
    get_current_time,
    convert_units,
    *SOLAR_TOOLS,
)

UI: tuple[UITool, ...] = (render_ui_component, request_user_selection)

CATALOGUE = Catalogue(REAL, UI)
