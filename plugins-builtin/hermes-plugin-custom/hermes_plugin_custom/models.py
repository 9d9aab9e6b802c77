"""``GET /models`` of compatible servers: the id everywhere, the window under a name of each one's own.

vLLM says ``max_model_len``, others ``context_length`` or ``context_window``, llama.cpp ``meta.n_ctx``
(its ``n_ctx_train`` is what the model could do, not what the server was started with).
"""

from __future__ import annotations

import msgspec

from hermes_plugins import Json, ModelInfo

_WINDOWS = ("max_model_len", "context_length", "context_window", "max_context_length")


class _List(msgspec.Struct):
    data: list[dict[str, Json]] | None = None


def parse(body: bytes) -> list[ModelInfo]:
    """The models that the server lists.

    Raises:
        msgspec.DecodeError: the body is no list of models.
    """
    listed = msgspec.json.decode(body, type=_List).data or []
    return [
        ModelInfo(id=ident, context_length=_window(model))
        for model in listed
        if isinstance(ident := model.get("id"), str)
    ]


def _window(model: dict[str, Json]) -> int:
    meta = model.get("meta")
    inner = meta.get("n_ctx") if isinstance(meta, dict) else None
    for size in (*(model.get(name) for name in _WINDOWS), inner):
        if isinstance(size, int) and size > 0:
            return size
    return 0
