"""The way to a model: assemble what streams back, tell errors apart, decide how long to wait."""
