"""The command ``hermes usage``. It stands in ``command.py``, its counting in ``totals.py``."""
