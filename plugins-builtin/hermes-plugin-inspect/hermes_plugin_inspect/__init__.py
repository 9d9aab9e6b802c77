"""The commands ``hermes tools``, ``skills``, ``prompt`` and ``logs``; a module each."""
