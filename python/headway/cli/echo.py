"""Every line that a command prints. Names and titles come from files of others: their control characters are shown."""

from __future__ import annotations

import re

import click

# The colours and weights that `click.style` writes.
_STYLE = r"\x1b\[(?:[0-9]|2[1-9]|3[0-79]|9[0-7])m"
# A terminal acts on control characters, signs that turn the direction of text hide parts of it, and stand-ins for bytes
# that are not UTF-8 cannot be printed.
_SIGN = re.compile(rf"({_STYLE})|[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def harmless(text: str) -> str:
    """The text with a picture in place of each sign on which a terminal would act, but for line ends and colours."""
    return _SIGN.sub(_picture, text)


def echo(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Print a text on standard output, or on standard error."""
    click.echo(harmless(text), err=err, nl=nl)


def _picture(found: re.Match[str]) -> str:
    sign = found[0]
    if found[1]:
        return sign
    return chr(0x2400 + ord(sign)) if sign < " " else "\u2421" if sign == "\x7f" else "\ufffd"
