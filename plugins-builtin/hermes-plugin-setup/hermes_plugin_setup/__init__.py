"""The commands ``hermes setup`` and ``hermes model``.

`setup_command` and `model_command` are what click calls. What is there is found out in `surroundings`
and `elsewhere`; a person is asked by `asking`, `picking` and `sections`; `changes` collects the answers
and writes them at once; `addresses` tries a base URL, `proof` a first turn. `unattended` asks nobody.
"""

PARTS = ("model", "speech", "terminal", "gateway", "tools", "agent")
"""The sections of ``hermes setup``, in order."""
