"""Prompts that show every ability of the offline model, one each."""

EXAMPLES: tuple[str, ...] = (
    "What is 17 * 23, and what time is it in Tokyo?",
    "Multiply 6 by 7, then convert the result from km to miles",
    "What time is it in Tokyo, Paris and New York? Show them in a table",
    "Draw a line chart of 1, 4, 9, 16, 25",
    "What is 6 * 7, and draw a bar chart of apples 3, pears 5",
    "Let me choose between red, green and blue",
    "Help me pick a date range, then show it as an alert",
    "Tell me a long story",
)
