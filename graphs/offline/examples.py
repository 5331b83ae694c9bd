"""Prompts that show what the offline model can do with our tools, those of the demo first."""

from turnstream.tools.solar import PROMPTS

PLANNING = PROMPTS[-1]

EXAMPLES: tuple[str, ...] = (
    *PROMPTS,
    "What is 17 * 23, and what time is it in Tokyo?",
    "Multiply 6 by 7, then convert the result from km to miles",
    "Draw a line chart of 1, 4, 9, 16, 25",
    "What is 6 * 7, and draw a bar chart of apples 3, pears 5",
    "Let me choose between red, green and blue",
    "Tell me a long story",
)
