"""The commands ``hermes doctor`` (``command.py``) and ``hermes update`` (``update_command.py``)."""
