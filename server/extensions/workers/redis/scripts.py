"""The Lua scripts by which Redis does several things in one step, and their keys.

A run has three keys: `log` is a stream whose item n has the id `0-(n+1)`, the header being item 0;
`state` is a hash of the worker that writes the log, the number of the last item, whether that was
the end, and whether another worker has asked for the log; `readers` is a hash of worker to
`{readers}:{milliseconds until when that counts}`. An item of the stream with any other id ends it:
the log is lost. Every script can be run again without harm: an answer may get lost on its way.
"""

import hashlib
from dataclasses import dataclass, field

from turnstream.server.turns.header import ThreadKey

PREFIX = "turnstream:"
"""The beginning of every key."""
LIVE_SECONDS = 86_400
"""A log that nobody appends to for so long is forgotten, whatever became of its worker."""
UNOPENED_SECONDS = 900
"""The same before its header is there."""
LOST_SECONDS = 60
"""Seconds for which a lost log tells its readers that it is lost."""


@dataclass(frozen=True, slots=True)
class Script:
    source: str
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        digest = hashlib.sha1(self.source.encode(), usedforsecurity=False).hexdigest()
        object.__setattr__(self, "digest", digest)


@dataclass(frozen=True, slots=True)
class Keys:
    """All begin with `prefix`; those of one run are in one slot of a cluster."""

    prefix: str

    def log(self, run_id: str) -> str:
        return f"{self.prefix}{{{run_id}}}:log"

    def state(self, run_id: str) -> str:
        return f"{self.prefix}{{{run_id}}}:state"

    def readers(self, run_id: str) -> str:
        return f"{self.prefix}{{{run_id}}}:readers"

    def thread(self, key: ThreadKey) -> str:
        """The ids of the thread's runs, by the time they began."""
        digest = hashlib.sha256(f"{key.owner}\0{key.thread_id}".encode("utf-8", "surrogatepass"))
        return f"{self.prefix}thread:{digest.hexdigest()[:32]}"

    def inbox(self, worker: str) -> str:
        return f"{self.prefix}inbox:{worker}"

    def probe(self, worker: str) -> str:
        return f"{self.prefix}probe:{worker}"


CREATE = Script("""
-- KEYS state, log; ARGV worker, seconds
redis.call('HSET', KEYS[1], 'worker', ARGV[1], 'last', -1)  -- first: a full Redis refuses it
redis.call('HDEL', KEYS[1], 'ended', 'seen')  -- what a try before has left
redis.call('DEL', KEYS[2])
redis.call('EXPIRE', KEYS[1], ARGV[2])
""")

APPEND = Script("""
-- KEYS log, state; ARGV worker, number of the first item, seconds, '1' if it ends, items...
local has = redis.call('HMGET', KEYS[2], 'worker', 'last', 'ended')
if not has[1] then return 'lost' end
if has[1] ~= ARGV[1] then return 'refused' end
local first, last, count = tonumber(ARGV[2]), tonumber(has[2]), #ARGV - 4
if first + count - 1 <= last then return 'appended' end
if has[3] then return 'refused' end
if first ~= last + 1 then return 'lost' end
for i = 1, count do
  local id = '0-' .. (first + i)
  if first + i == 1 then
    redis.call('XADD', KEYS[1], id, 'd', ARGV[4 + i])
  elseif not redis.call('XADD', KEYS[1], 'NOMKSTREAM', id, 'd', ARGV[4 + i]) then
    return 'lost'
  end
end
redis.call('HSET', KEYS[2], 'last', first + count - 1)
if ARGV[4] == '1' then redis.call('HSET', KEYS[2], 'ended', 1) end
redis.call('EXPIRE', KEYS[1], ARGV[3])
redis.call('EXPIRE', KEYS[2], ARGV[3])
return 'appended'
""")

LOOK = Script("""
-- KEYS log, state. The number of the last item; nil: the log is not held
local last = redis.call('HGET', KEYS[2], 'last')
if not last then return false end
if last == '-1' then
  redis.call('HSET', KEYS[2], 'seen', 1)
elseif redis.call('EXISTS', KEYS[1]) == 0 then
  return false
end
return tonumber(last)
""")

LOSE = """
local function lose(seconds)
  redis.call('DEL', KEYS[2], KEYS[3])
  local mark = redis.pcall('XADD', KEYS[1], '*', 'lost', 1)
  if type(mark) == 'table' and mark.err then
    redis.call('DEL', KEYS[1])
  else
    redis.call('XTRIM', KEYS[1], 'MAXLEN', 1)
    redis.call('EXPIRE', KEYS[1], seconds)
  end
end
"""

TAKE_OVER = Script(f"""{LOSE}
-- KEYS log, state, readers; ARGV worker, seconds, seconds of a lost one
local has = redis.call('HMGET', KEYS[2], 'worker', 'last')
if not has[1] or (has[2] ~= '-1' and redis.call('EXISTS', KEYS[1]) == 0) then
  lose(ARGV[3])
  return false
end
redis.call('HSET', KEYS[2], 'worker', ARGV[1])
redis.call('EXPIRE', KEYS[1], ARGV[2])
redis.call('EXPIRE', KEYS[2], ARGV[2])
return tonumber(has[2])
""")

DISCARD = Script(f"""{LOSE}
-- KEYS log, state, readers; ARGV seconds of a lost one, the worker that may: '' for any
local has = redis.call('HMGET', KEYS[2], 'worker', 'seen')
if ARGV[2] ~= '' and has[1] and has[1] ~= ARGV[2] then return end
local is_open = redis.call('EXISTS', KEYS[1]) == 1
if has[1] and not has[2] and not is_open then
  redis.call('DEL', KEYS[2], KEYS[3])
elseif has[1] or is_open or ARGV[2] ~= '' then
  lose(ARGV[1])
end
""")

KEEP = Script("""
-- KEYS log, state, readers; ARGV worker, milliseconds
if redis.call('HGET', KEYS[2], 'worker') == ARGV[1] then
  for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, ARGV[2]) end
end
""")

JOIN_THREAD = Script("""
-- KEYS thread; ARGV run id, seconds
local now = tonumber(redis.call('TIME')[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[2])
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('EXPIRE', KEYS[1], ARGV[2])
""")

NOTE_READERS = Script("""
-- KEYS readers, state; ARGV worker, how many, milliseconds until they must be noted again
local left = redis.call('PTTL', KEYS[2])
if left < 0 then
  redis.call('DEL', KEYS[1])
  return
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if ARGV[2] == '0' then
  redis.call('HDEL', KEYS[1], ARGV[1])
  redis.call('HSET', KEYS[1], 'left', string.format('%d', now))
else
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2] .. ':' .. string.format('%d', now + ARGV[3]))
end
redis.call('PEXPIRE', KEYS[1], left)
""")

COUNT_READERS = Script("""
-- KEYS readers; ARGV the worker that asks. How many others read; milliseconds since there are none
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local count, left, all = 0, 0, redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  if all[i] == 'left' then
    left = math.max(left, tonumber(all[i + 1]))
  elseif all[i] ~= ARGV[1] then
    local readers, ends = all[i + 1]:match('(%d+):(%d+)')
    if tonumber(ends) > now then
      count = count + readers
    else
      left = math.max(left, tonumber(ends))
    end
  end
end
return {count, left > 0 and now - left or -1}
""")

SEND = Script("""
-- KEYS inbox; ARGV seconds, fields and values...
redis.call('XADD', KEYS[1], 'MAXLEN', '~', 1000, '*', unpack(ARGV, 2))
redis.call('EXPIRE', KEYS[1], ARGV[1])
""")

ALL = (
    *(CREATE, APPEND, LOOK, TAKE_OVER, DISCARD, KEEP),
    *(JOIN_THREAD, NOTE_READERS, COUNT_READERS, SEND),
)
