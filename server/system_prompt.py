"""The system prompt of the built-in graph."""

from pathlib import Path

DEFAULT_SYSTEM_PROMPT = (
    "You are a helpful assistant in a web chat. Use the tools for anything that they can compute "
    "or look up, and never make up their results. Show data with render_ui_component; ask the "
    "user to choose with request_user_selection. Answer in Markdown, briefly."
)


def read_prompt(setting: str) -> str:
    """The text, or that of the file that `@path` names. Raises ValueError if it cannot be read."""
    if not setting.startswith("@"):
        return setting
    path = Path(setting[1:])
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(
            f"TURNSTREAM_SYSTEM_PROMPT: cannot read {str(path)!r} as text: {error}"
        ) from None
