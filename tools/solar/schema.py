"""The fleet's file: its tables, and the keys that make it small and quick.

Time is counted in *slots*: a slot is the quarter of an hour that begins at `EPOCH_SLOT + slot`
quarters after 1970-01-01T00:00Z. Readings and irradiance are keyed by owner and slot in one
integer, `owner * SLOTS_PER_KEY + slot`, which SQLite stores as the row's own address: a window of
one logger is one range of the table, with no index beside it.

A missing row is a quarter of an hour from which nothing was received; at night the rows are there
and hold zeros. `logger_day` sums the readings up by the site's local day. It is derived from
`reading` and `plane` alone, by `ROLLUP`, and holds nothing that they do not.
"""

from turnstream.tools.solar.formulas import DC_LOSS, ETA_NOMINAL, ETA_REFERENCE, G_STC

SLOT_MINUTES = 15
SLOT_SECONDS = SLOT_MINUTES * 60
SLOTS_PER_HOUR = 60 // SLOT_MINUTES
EPOCH_SLOT = 1_704_067_200 // SLOT_SECONDS  # 2024-01-01T00:00Z
SLOTS_PER_KEY = 40_000

SUNLIT_W_M2 = 100  # an inverter that stands still above this is not asleep
BRIGHT_W_M2 = 400  # above this the ratio of power to irradiance is steady enough to judge by
CLIPPED_SHARE = 0.995  # of rated power: at its limit
UNLIMITED_SHARE = 0.97  # of rated power: certainly not at its limit

# formulas.expected_power, word for word, so that a year needs no loop in Python. Wants the columns
# rated_w, and dc: DC power in W after losses.
EXPECTED_W = (
    f"MIN(rated_w, MAX(0, {ETA_NOMINAL / ETA_REFERENCE!r} * (0.9858 * dc"
    f" - 0.0059 * rated_w / {ETA_NOMINAL} - 0.0162 * dc * dc * {ETA_NOMINAL} / rated_w)))"
)
# Of a logger l and a row p of plane.
DC_W = (
    f"(l.strings_1 + l.strings_2) * l.string_w * p.poa / {G_STC}"
    f" * (1 + l.gamma * (p.module_c - 25)) * (1 - {DC_LOSS})"
)

TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE site (
    site_id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    time_zone TEXT NOT NULL,      -- IANA
    latitude REAL NOT NULL,
    longitude REAL NOT NULL,
    mounting TEXT NOT NULL,
    number INTEGER NOT NULL UNIQUE -- the owner part of the keys of plane
) WITHOUT ROWID;
CREATE TABLE logger (
    logger_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    site_id TEXT NOT NULL REFERENCES site,
    rated_w INTEGER NOT NULL,     -- AC
    strings_1 INTEGER NOT NULL,   -- on the first input (MPPT) and the second
    strings_2 INTEGER NOT NULL,
    string_w INTEGER NOT NULL,    -- DC power of one string at STC
    gamma REAL NOT NULL,          -- change of power a degree Celsius of module temperature
    commissioned INTEGER          -- local day (proleptic ordinal), NULL: not yet
);
CREATE TABLE reading (            -- what a logger sends
    key INTEGER PRIMARY KEY,      -- logger_id * 40000 + slot
    ac_w INTEGER NOT NULL,        -- means over the slot
    dc1_w INTEGER NOT NULL,
    dc2_w INTEGER NOT NULL
);
CREATE TABLE plane (              -- what the site's own sensors measure in the array's plane
    key INTEGER PRIMARY KEY,      -- site.number * 40000 + slot
    poa INTEGER NOT NULL,         -- irradiance, W/m2, mean over the slot
    module_c INTEGER NOT NULL     -- module temperature, degrees Celsius
);
CREATE TABLE event (
    logger_id INTEGER NOT NULL,
    start_slot INTEGER NOT NULL,
    code INTEGER NOT NULL,
    end_slot INTEGER,             -- first slot after it, NULL: still there
    PRIMARY KEY (logger_id, start_slot, code)
) WITHOUT ROWID;
CREATE TABLE site_day (
    site_id TEXT NOT NULL,
    day INTEGER NOT NULL,         -- local day, proleptic ordinal
    first_slot INTEGER NOT NULL,
    slots INTEGER NOT NULL,       -- 92 and 100 on the days when the clocks change
    clear_poa_sum INTEGER NOT NULL, -- W/m2 summed over the slots under a clear sky; from the model
    PRIMARY KEY (site_id, day)
) WITHOUT ROWID;
CREATE TABLE logger_day (         -- sums over the slots that have a reading
    logger_id INTEGER NOT NULL,
    day INTEGER NOT NULL,
    slots INTEGER NOT NULL,       -- that the day has
    intervals INTEGER NOT NULL,   -- that have a reading
    ac_sum INTEGER NOT NULL,      -- W summed over slots: a quarter of it is Wh
    poa_sum INTEGER NOT NULL,     -- W/m2 summed over slots
    corrected_sum INTEGER NOT NULL, -- the same, each slot times 1 + gamma * (module_c - 25)
    expected_sum INTEGER NOT NULL, -- W that a healthy inverter delivers, summed over slots
    peak_w INTEGER NOT NULL,
    idle INTEGER NOT NULL,        -- slots with sun and no power
    clipped INTEGER NOT NULL,     -- slots at rated power
    clipped_sum INTEGER NOT NULL, -- corrected_sum of those
    bright INTEGER NOT NULL,      -- slots with strong sun, running and not limited
    bright_sum INTEGER NOT NULL,  -- corrected_sum of those
    bright_dc1 INTEGER NOT NULL,  -- DC W of those, input by input
    bright_dc2 INTEGER NOT NULL,
    PRIMARY KEY (logger_id, day)
) WITHOUT ROWID;
"""

ROLLUP = f"""
INSERT INTO logger_day
WITH joined AS (
    SELECT l.logger_id, l.rated_w, d.day, d.slots, {DC_W} AS dc, r.ac_w, r.dc1_w, r.dc2_w, p.poa,
           p.poa * (1 + l.gamma * (p.module_c - 25)) AS corrected,
           r.ac_w >= {CLIPPED_SHARE} * l.rated_w AS at_limit,
           p.poa >= {BRIGHT_W_M2} AND r.ac_w > 0
               AND r.ac_w < {UNLIMITED_SHARE} * l.rated_w AS is_bright
    FROM logger AS l
    JOIN site AS s USING (site_id)
    JOIN site_day AS d USING (site_id)
    JOIN reading AS r
        ON r.key >= l.logger_id * {SLOTS_PER_KEY} + d.first_slot
        AND r.key < l.logger_id * {SLOTS_PER_KEY} + d.first_slot + d.slots
    JOIN plane AS p ON p.key = r.key - (l.logger_id - s.number) * {SLOTS_PER_KEY}
)
SELECT logger_id, day, MAX(slots), COUNT(*), SUM(ac_w), SUM(poa),
       CAST(ROUND(SUM(corrected)) AS INTEGER), CAST(ROUND(SUM({EXPECTED_W})) AS INTEGER),
       MAX(ac_w), SUM(poa >= {SUNLIT_W_M2} AND ac_w = 0),
       SUM(at_limit), CAST(ROUND(SUM(corrected * at_limit)) AS INTEGER),
       SUM(is_bright), CAST(ROUND(SUM(corrected * is_bright)) AS INTEGER),
       SUM(dc1_w * is_bright), SUM(dc2_w * is_bright)
FROM joined GROUP BY logger_id, day
"""
