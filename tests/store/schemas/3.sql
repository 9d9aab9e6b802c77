-- A database as version 3 of the schema left it (without FTS5). Never edited.
BEGIN TRANSACTION;
CREATE TABLE drafts (
    session INTEGER PRIMARY KEY,
    time REAL NOT NULL,
    text TEXT NOT NULL,
    reasoning TEXT NOT NULL
);
CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL,
    position INTEGER NOT NULL,
    time REAL NOT NULL,
    role TEXT NOT NULL,
    body TEXT NOT NULL
);
INSERT INTO "messages" VALUES(1,1,1,1800000000.0,'user','{"role":"user","parts":[{"type":"text","text":"你好 world"}]}');
INSERT INTO "messages" VALUES(2,1,2,1800000000.0,'assistant','{"role":"assistant","parts":[{"type":"text","text":"hi"}]}');
CREATE TABLE record_leases (
    namespace TEXT NOT NULL,
    key TEXT NOT NULL,
    holder TEXT NOT NULL,
    until REAL NOT NULL,
    PRIMARY KEY (namespace, key)
) WITHOUT ROWID;
CREATE TABLE records (
    namespace TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (namespace, key)
) WITHOUT ROWID;
INSERT INTO "records" VALUES('n','a','{"x":1}',1);
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
, named INTEGER NOT NULL DEFAULT 0);
INSERT INTO "sessions" VALUES(1,'20270115_080000_2265b1','an old session','cli','','','','',1800000000.0,1800000000.0,2,1,1,2,2,'',4242,'box',0.0,1);
CREATE TABLE texts (
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    body BLOB NOT NULL
);
INSERT INTO "texts" VALUES(1,X'3061B0E8B8BEAAC6BD466C739FB43EAA',X'4265206B696E642E');
INSERT INTO "texts" VALUES(2,X'7EBB3C7C2A87B1A2F8A7ED729ECB040D',X'5B5D');
CREATE TABLE unindexed (id INTEGER PRIMARY KEY);
INSERT INTO "unindexed" VALUES(1);
INSERT INTO "unindexed" VALUES(2);
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
INSERT INTO "usage" VALUES(1,'m',5,1,0,0,NULL);
CREATE INDEX sessions_by_use ON sessions (updated);
CREATE INDEX sessions_by_parent ON sessions (parent) WHERE parent <> '';
CREATE INDEX sessions_by_title ON sessions (title);
CREATE UNIQUE INDEX messages_in_order ON messages (session, position);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('sessions',1);
INSERT INTO "sqlite_sequence" VALUES('messages',2);
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
INSERT INTO "inbound" VALUES(1,'irc','m1','["irc","ada","","ada"]',1800000000.0,'{"id":"m1","platform":"irc","chat":"ada","sender":"ada","text":"hi"}',1,'20270115_080000_aaaaaa',2);
INSERT INTO "outbound" VALUES(1,'1.1','irc','ada',1800000000.0,'{"id":"1.1","chat":"ada","text":"hello"}','hi',1,1,0.0,'','');
COMMIT;
