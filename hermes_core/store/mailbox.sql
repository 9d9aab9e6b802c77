-- What chat platforms brought, and what goes out to them. Times are seconds since the epoch.

-- ``state``: 0 waits for its turn, 1 is worked on, 2 is answered. ``session`` and ``position`` tell
-- where the turn began. Answered rows are kept for a while, so that none is taken twice.
CREATE TABLE inbound (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    platform TEXT NOT NULL,
    id TEXT NOT NULL,
    conversation TEXT NOT NULL,
    time REAL NOT NULL,
    body TEXT NOT NULL,
    state INTEGER NOT NULL DEFAULT 0,
    session TEXT NOT NULL DEFAULT '',
    position INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX inbound_once ON inbound (platform, id);
CREATE INDEX inbound_open ON inbound (conversation, key) WHERE state < 2;
CREATE INDEX inbound_by_time ON inbound (time);

-- ``state``: 0 waits, 1 is being sent, 2 has a receipt, 3 was given up. ``question`` is the beginning of
-- what it answers, "" for a note.
CREATE TABLE outbound (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    platform TEXT NOT NULL,
    chat TEXT NOT NULL,
    time REAL NOT NULL,
    body TEXT NOT NULL,
    question TEXT NOT NULL,
    state INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0,
    due REAL NOT NULL DEFAULT 0,
    receipt TEXT NOT NULL DEFAULT '',
    error TEXT NOT NULL DEFAULT ''
);
CREATE INDEX outbound_open ON outbound (platform, chat, key) WHERE state < 2;
CREATE INDEX outbound_by_time ON outbound (time);
