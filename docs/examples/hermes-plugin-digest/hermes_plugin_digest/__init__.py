"""The command ``hermes digest``. It stands in ``command.py``, so that nobody else pays for click."""
