"""The prompt of a face without a terminal: what a slash command does to it can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hermes_plugins._approvals import Answer
    from hermes_plugins._faces import FaceHost, FaceSession, RunHandle, SessionWish
    from hermes_plugins._messages import Message


class FakePrompt:
    """Implements the kit's `SlashContext` on a real host; get it from `TestHost.prompt`.

    ``submitted``, ``answers`` and ``left`` tell what commands did; ``edited`` is what the editor gives
    back.
    """

    def __init__(self, face: FaceHost, session: FaceSession) -> None:
        self.face = face
        self.session = session
        self.running: RunHandle | None = None
        self.submitted: list[str | Message] = []
        self.answers: list[Answer] = []
        self.is_asked = False
        self.edited = ""
        self.left = False
        self._verbose = False

    async def type(self, line: str) -> str | None:
        """What is shown for a line; None where it is a message."""
        return await self.face.command(self, line)

    async def switch(self, wish: SessionWish) -> None:
        opened = await self.face.open(wish)
        await self.session.close()
        self.session = opened

    def submit(self, message: str | Message) -> None:
        self.submitted.append(message)

    def leave(self) -> None:
        self.left = True

    def answer(self, answer: Answer) -> bool:
        self.answers.append(answer)
        return self.is_asked

    def toggle_verbose(self) -> bool:
        self._verbose = not self._verbose
        return self._verbose

    async def edit(self, text: str) -> str:
        return self.edited or text
