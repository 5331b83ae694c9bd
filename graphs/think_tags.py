"""Reasoning that a model writes into its text, between tags: `<think>6 * 7 ...</think>It is 42.`

Servers without a parser for their model's reasoning send it so (llama.cpp, vLLM without
`--reasoning-parser`, LM Studio). Only tags at the beginning of a message are read: further behind
they are what the model writes about.
"""

from langchain_core.messages import AIMessageChunk

TAGS = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "[THINK]": "[/THINK]",  # Magistral
}
MAX_HELD = 100
"""Characters that are held back at the beginning of a message: blanks cost no more than that."""


class ThinkTags:
    """Splits the text of one message, delta by delta, at the cost of its size."""

    def __init__(self, *, is_done: bool = False) -> None:
        self._held = ""
        """Text that may be the beginning of a tag, or blanks ahead of one."""
        self._end = ""
        """The tag that ends the reasoning; empty outside of it."""
        self._has_thought = False
        self._is_behind = False
        """True from the end of the reasoning to the text behind it."""
        self.is_done = is_done
        """True once no tag can follow: text is text."""

    def split(self, text: str) -> tuple[str, str]:
        """Take a delta. Returns the reasoning and the text that are certain by now."""
        if self.is_done:
            return "", text
        text, self._held = self._held + text, ""
        thought = ""
        if not self._end and not self._is_behind:
            text = self._opened(text)
        if self._end:
            thought, text = self._closed(text)
            if not self._has_thought:
                thought = thought.lstrip()
                self._has_thought = bool(thought)
        if self._is_behind:
            text = text.lstrip()
            self.is_done = bool(text)
        return thought, text

    def rest(self) -> tuple[str, str]:
        """Return what was held back, at the end of the message."""
        held, self._held = self._held, ""
        return (held, "") if self._end else ("", held)

    def _opened(self, text: str) -> str:
        """Return the text behind an opening tag, or the text itself if there is none."""
        begun = text.lstrip()
        for tag, end in TAGS.items():
            if begun.startswith(tag):
                self._end = end
                return begun[len(tag) :]
        if any(tag.startswith(begun) for tag in TAGS) and len(text) <= MAX_HELD:
            self._held = text
            return ""
        self.is_done = True
        return text

    def _closed(self, text: str) -> tuple[str, str]:
        """Return the reasoning and the text behind it."""
        thought, tag, behind = text.partition(self._end)
        if tag:
            self._end, self._is_behind = "", True
            return thought, behind
        kept = next(
            (n for n in range(len(self._end) - 1, 0, -1) if text.endswith(self._end[:n])), 0
        )
        self._held = text[len(text) - kept :]
        return text[: len(text) - kept], ""


def take_thoughts(tags: ThinkTags, message: AIMessageChunk, *, ends: bool, shows: bool) -> None:
    """Move what stands between tags out of a chunk's text: to its reasoning if that `shows`. The
    chunk that `ends` the message gets what was held back."""
    if tags.is_done or not isinstance(message.content, str):
        return
    thought, message.content = tags.split(message.content)
    if ends:
        last_thought, last_text = tags.rest()
        thought, message.content = thought + last_thought, message.content + last_text
    if shows and thought:
        before = message.additional_kwargs.get("reasoning_content") or ""
        message.additional_kwargs["reasoning_content"] = before + thought
