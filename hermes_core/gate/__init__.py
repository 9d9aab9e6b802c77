"""The gate: what a tool call may do, and who is asked. See `gate.Gate` for the order of judgement."""
