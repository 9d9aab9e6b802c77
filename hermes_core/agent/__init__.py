"""The agent: a session, its turns and its tool calls. Knows no face, no vendor and no disk format."""
