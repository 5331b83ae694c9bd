"""The words that a thread begins with: its title, as long as nobody has named it."""

from collections.abc import Sequence

from langchain_core.messages import AnyMessage

from turnstream.graphs.history import from_user
from turnstream.server.runs.transcript import user_content
from turnstream.server.storage.interfaces import ThreadStore
from turnstream.server.storage.titles import FirstWords, is_first_title, short_title
from turnstream.server.turns.header import ThreadKey
from turnstream.server.turns.requests import UserMessage


def first_words(messages: Sequence[AnyMessage]) -> str | None:
    """None: the user has written none of these messages."""
    asked = from_user(messages)
    return UserMessage(user_content(asked[0])).title if asked else None


def changed_words(before: Sequence[AnyMessage], after: Sequence[AnyMessage]) -> FirstWords | None:
    """None: the thread begins as before, or with its graph's summary, which redacts nothing. A
    thread without a user's message begins with no words."""
    if after and "lc_source" in after[0].additional_kwargs:
        return None
    first, now = first_words(before), first_words(after) or ""
    return None if first is None or first == now else FirstWords(first, now)


async def follow_words(store: ThreadStore, key: ThreadKey, words: FirstWords) -> None:
    """Title a thread that nobody has named by the words that it begins with now: its graph may have
    redacted or removed those before. Raises StorageUnavailable."""
    entry = await store.get(key)
    if entry is None or is_first_title(entry.title, words.after):
        return
    if is_first_title(entry.title, words.before):
        await store.give_title(key, short_title(words.after), entry.title)
