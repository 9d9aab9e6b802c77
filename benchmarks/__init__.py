"""What things cost: `python -m benchmarks` measures and prints a table. Nothing here is a timed test."""
