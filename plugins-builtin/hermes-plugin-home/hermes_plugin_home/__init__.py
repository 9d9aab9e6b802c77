"""The commands of the home: ``backup.py``, ``restore.py``, ``profile.py`` and ``uninstall.py``.

What a home is made of stands in ``home.py``, the file format in ``archive.py``.
"""
