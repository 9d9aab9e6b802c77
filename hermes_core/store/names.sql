-- Version 3: which titles a person chose, and sessions by the one that began them.
-- Until here nobody noted who had chosen a title: any that is there counts as chosen, so that none that
-- was is pruned for having no name.
ALTER TABLE sessions ADD COLUMN named INTEGER NOT NULL DEFAULT 0;
UPDATE sessions SET named = 1 WHERE title <> '';
CREATE INDEX sessions_by_parent ON sessions (parent) WHERE parent <> '';
