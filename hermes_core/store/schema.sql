-- Version 1 of state.db. A later version is a file of its own, named in database.py: never edit this.
-- Times are seconds since the epoch. The search index stands in search.py, because an SQLite
-- without FTS5 does without it.

-- ``fence`` counts the takings of the writing lease; ``holder``, ``pid`` and ``host`` tell who has it.
CREATE TABLE sessions (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    face TEXT NOT NULL,
    model TEXT NOT NULL,
    workspace TEXT NOT NULL,
    parent TEXT NOT NULL,
    kind TEXT NOT NULL,
    created REAL NOT NULL,
    updated REAL NOT NULL,
    message_count INTEGER NOT NULL DEFAULT 0,
    model_calls INTEGER NOT NULL DEFAULT 0,
    system INTEGER NOT NULL,
    tools INTEGER NOT NULL,
    fence INTEGER NOT NULL DEFAULT 0,
    holder TEXT NOT NULL DEFAULT '',
    pid INTEGER NOT NULL DEFAULT 0,
    host TEXT NOT NULL DEFAULT '',
    lease_until REAL NOT NULL DEFAULT 0
);
CREATE INDEX sessions_by_use ON sessions (updated);
CREATE INDEX sessions_by_title ON sessions (title);

-- System prompts and tool lists, each kept once however many sessions share it.
CREATE TABLE texts (
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    body BLOB NOT NULL
);

-- AUTOINCREMENT: an id is never given twice, so that what a deleted message left in the search index
-- can never point at another one.
CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL,
    position INTEGER NOT NULL,
    time REAL NOT NULL,
    role TEXT NOT NULL,
    body TEXT NOT NULL
);
CREATE UNIQUE INDEX messages_in_order ON messages (session, position);

-- Messages that a process without FTS5 wrote; the next one with it indexes them.
CREATE TABLE unindexed (id INTEGER PRIMARY KEY);

-- The answer that is being streamed; gone when the message itself is there.
CREATE TABLE drafts (
    session INTEGER PRIMARY KEY,
    time REAL NOT NULL,
    text TEXT NOT NULL,
    reasoning TEXT NOT NULL
);

CREATE TABLE usage (
    session INTEGER NOT NULL,
    model TEXT NOT NULL,
    input INTEGER NOT NULL,
    output INTEGER NOT NULL,
    cached INTEGER NOT NULL,
    reasoning INTEGER NOT NULL,
    cost REAL,
    PRIMARY KEY (session, model)
) WITHOUT ROWID;

CREATE TABLE records (
    namespace TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (namespace, key)
) WITHOUT ROWID;

CREATE TABLE record_leases (
    namespace TEXT NOT NULL,
    key TEXT NOT NULL,
    holder TEXT NOT NULL,
    until REAL NOT NULL,
    PRIMARY KEY (namespace, key)
) WITHOUT ROWID;
