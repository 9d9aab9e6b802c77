"""The shell at a terminal. `shell.Repl` is the driver; nothing is imported before it is opened."""
