"""The image in the clipboard, through the small program that the system has for it.

Wayland: wl-paste; X11: xclip; macOS: pngpaste, or osascript; Windows, also from inside WSL: PowerShell.
"""

from __future__ import annotations

import base64
import binascii
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from typing import Final

from .images import MOST_BYTES, Image, NotAnImage, as_image

SECONDS: Final = 5
"""For one program."""
_NAME: Final = "clipboard image"
_TYPES: Final = ("image/png", "image/jpeg", "image/webp", "image/gif")
_APPLE: Final = ("osascript", "-e", "get the clipboard as «class PNGf»")
_WINDOWS: Final = (
    "powershell.exe",
    "-NoProfile",
    "-NonInteractive",
    "-STA",
    "-Command",
    "Add-Type -AssemblyName System.Windows.Forms; "
    "$image = [System.Windows.Forms.Clipboard]::GetImage(); "
    "if ($image) { $out = New-Object System.IO.MemoryStream; "
    "$image.Save($out, [System.Drawing.Imaging.ImageFormat]::Png); "
    "[Convert]::ToBase64String($out.ToArray()) }",
)
_HEX: Final = re.compile(rb"data PNGf([0-9A-Fa-f]+)")


def clipboard_image(environ: Mapping[str, str]) -> Image:
    """The image; waits for the program, so call it in a thread.

    Raises:
        NotAnImage: there is none, it cannot be sent, or no program can read it; says which.
    """
    programs = _programs(environ)
    if not programs:
        raise NotAnImage(
            "Nothing here can read the clipboard: install wl-clipboard (Wayland), xclip (X11) or "
            "pngpaste (macOS), or type @ and the path of the image."
        )
    for program in programs:
        if data := _decoded(program[0], _output(program, environ)):
            return as_image(_NAME, data)
    raise NotAnImage("There is no image in the clipboard.")


def _programs(environ: Mapping[str, str]) -> Sequence[Sequence[str]]:
    """The commands to try, the likely ones first."""
    candidates: list[Sequence[str]] = []
    if environ.get("WAYLAND_DISPLAY"):
        candidates += [("wl-paste", "--no-newline", "--type", one) for one in _TYPES]
    if environ.get("DISPLAY"):
        target = ("xclip", "-selection", "clipboard", "-out", "-target")
        candidates += [(*target, one) for one in _TYPES]
    candidates += [("pngpaste", "-"), _APPLE, _WINDOWS]
    path = environ.get("PATH")
    return [one for one in candidates if shutil.which(one[0], path=path)]


def _output(program: Sequence[str], environ: Mapping[str, str]) -> bytes:
    try:
        ended = subprocess.run(
            list(program),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=SECONDS,
            env=dict(environ),
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return b""
    return ended.stdout if ended.returncode == 0 else b""


def _decoded(program: str, output: bytes) -> bytes:
    """The bytes of the image; b"" where the output holds none."""
    try:
        if program == _APPLE[0]:
            found = _HEX.search(output)
            return binascii.unhexlify(found[1]) if found else b""
        if program == _WINDOWS[0]:
            return base64.b64decode(output) if len(output) < 2 * MOST_BYTES else b""
    except binascii.Error:
        return b""
    return output
