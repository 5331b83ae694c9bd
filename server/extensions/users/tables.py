"""The tables of API keys, of browser sessions, and of the secrets that sign their cookies."""

from sqlalchemy import Column, Float, MetaData, Table

from turnstream.server.extensions.tables import NUMBER, TEXT

metadata = MetaData()

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", TEXT, primary_key=True),
    Column("principal", TEXT, nullable=False, index=True),
    Column("role", TEXT),
    Column("digest", TEXT, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("expires_at", Float),
    Column("last_used_at", Float),
    Column("revoked_at", Float),
)

browser_sessions = Table(
    "browser_sessions",
    metadata,
    Column("id", TEXT, primary_key=True),
    Column("principal", TEXT, nullable=False, index=True),
    Column("roles", TEXT, nullable=False),
    Column("display_name", TEXT, nullable=False),
    Column("method", TEXT, nullable=False),
    Column("key_id", TEXT, index=True),
    Column("created_at", Float, nullable=False),
    Column("expires_at", Float, nullable=False, index=True),
)
"""Logins by a cookie. `roles` is a JSON list."""

session_secrets = Table(
    "session_secrets",
    metadata,
    Column("number", NUMBER, primary_key=True),
    Column("secret", TEXT, nullable=False),
    Column("created_at", Float, nullable=False),
)
"""The secrets of the cookies: the newest signs, all verify."""
