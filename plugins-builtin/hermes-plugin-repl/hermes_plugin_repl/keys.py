"""What the keys do; the rest is Emacs' usual bindings."""

from __future__ import annotations

from typing import Protocol

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys


class Driver(Protocol):
    """Whom the keys tell."""

    @property
    def is_working(self) -> bool:
        """True while a turn runs."""

    def enter(self, buffer: Buffer) -> None:
        """The draft is to be sent."""

    def paste(self, buffer: Buffer, text: str) -> None:
        """Text was pasted."""

    def paste_image(self, buffer: Buffer) -> None:
        """Ctrl-V: the image in the clipboard."""

    def interrupt(self, buffer: Buffer) -> None:
        """Ctrl-C."""

    def escape(self) -> None:
        """Esc while a turn runs."""

    def end(self, buffer: Buffer) -> None:
        """Ctrl-D."""

    def show_result(self) -> None:
        """Ctrl-O."""

    def clear(self) -> None:
        """Ctrl-L."""


def bindings(driver: Driver) -> KeyBindings:
    """The bindings of the shell."""
    keys = KeyBindings()
    working = Condition(lambda: driver.is_working)

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        driver.enter(event.current_buffer)

    @keys.add("escape", "enter")
    @keys.add("c-j")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @keys.add(Keys.BracketedPaste)
    def _(event: KeyPressEvent) -> None:
        driver.paste(event.current_buffer, event.data)

    @keys.add("c-v")
    @keys.add("escape", "v")
    def _(event: KeyPressEvent) -> None:
        driver.paste_image(event.current_buffer)

    @keys.add("c-z")
    def _(event: KeyPressEvent) -> None:
        event.app.suspend_to_background()

    @keys.add("c-c")
    @keys.add("<sigint>")
    def _(event: KeyPressEvent) -> None:
        driver.interrupt(event.current_buffer)

    @keys.add("escape", filter=working)
    def _(event: KeyPressEvent) -> None:
        driver.escape()

    @keys.add("c-d")
    def _(event: KeyPressEvent) -> None:
        driver.end(event.current_buffer)

    @keys.add("c-o")
    def _(event: KeyPressEvent) -> None:
        driver.show_result()

    @keys.add("c-l")
    def _(event: KeyPressEvent) -> None:
        driver.clear()

    return keys
