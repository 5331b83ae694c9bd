"""Prompts that show what the offline model can do."""

PLANNING = "Schedule an inspection of inverter 3 on 2026-12-01"

EXAMPLES: tuple[str, ...] = (
    "How is the fleet doing?",
    "Show the power curve of inverter 3 last Tuesday",
    "Compare site A and B",
    "What did we save this year?",
    "What does error 3105 mean?",
    "Show the power curve of inverter 3 on 2026-03-01",
    PLANNING,
    "What is 17 * 23, and what time is it in Tokyo?",
    "Multiply 6 by 7, then convert the result from km to miles",
    "Draw a line chart of 1, 4, 9, 16, 25",
    "What is 6 * 7, and draw a bar chart of apples 3, pears 5",
    "Let me choose between red, green and blue",
    "Tell me a long story",
)
