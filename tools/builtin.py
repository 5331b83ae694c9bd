"""The tools that this server has: a new tool is its file and its line here."""

from langchain_core.tools import BaseTool

from tools.calculator import calculator, multiply
from tools.catalogue import Catalogue
from tools.clock import get_current_time
from tools.contract import UITool
from tools.solar import SOLAR_TOOLS
from tools.ui import render_ui_component, request_user_selection
from tools.units import convert_units

REAL: tuple[BaseTool, ...] = (
    calculator,
    multiply,
    get_current_time,
    convert_units,
    *SOLAR_TOOLS,
)

UI: tuple[UITool, ...] = (render_ui_component, request_user_selection)

CATALOGUE = Catalogue(REAL, UI)
