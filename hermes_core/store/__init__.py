"""What is kept: sessions, messages, search and plugins' records, in one SQLite file.

``sqlite.py`` is the door (`Store`); ``sessions.py`` and ``records.py`` are what it does to the tables
of ``schema.sql``; ``index.py`` knows which words stand where, ``query.py`` and ``search.py`` find them;
``repair.py`` makes a broken-off session valid again; ``database.py`` opens the file, and ``writer.py``
has the two threads that alone touch it.

For ``hermes sessions``: ``transfer.py`` and ``intake.py`` write and read files, ``upkeep.py`` forgets,
``checkup.py`` finds what does not fit together, ``salvage.py`` saves what a damaged file still holds.
"""
