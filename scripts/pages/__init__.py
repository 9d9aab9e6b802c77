"""One module a generated page: each has ``page()``, the whole text. Run by ``generate_docs.py``."""
