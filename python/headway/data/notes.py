"""Notes in one line: the first clause of a sentence, and the page about it."""

from __future__ import annotations

import re

# Characters that a note takes on one line, at most, without the name of what it is about.
LINE = 170
NAME = re.compile(r"\S+(?: \S+)?(?: at \S+)?(?: and \d+ more)?: ")
# A page about the subject of a note.
PAGE = re.compile(r"\s*\((headway docs [\w#/-]+)\)")
# A command at the end of a note, which says what to do.
ADVICE = re.compile(r"; (`[^`]+` [^;`]{1,40})$")
# Ends of clauses, without which what stands before them is a sentence as well.
CLAUSE = re.compile(r"[:;] |\. (?=[A-Z])|, (?=and |but |so |which )")
# A clause of fewer characters says too little.
LEAST = 40


def brief(text: str) -> str:
    """A note in one line of at most `LINE` characters where its clauses allow that; a short note is as it was."""
    name = found[0] if (found := NAME.match(text)) else ""
    page = PAGE.search(text)
    rest = PAGE.sub("", text[len(name) :])
    advice = ADVICE.search(rest)
    if len(rest) <= LINE:
        return text
    room = LINE - len(" ...")
    ends = [found.start() for found in CLAUSE.finditer(rest) if LEAST <= found.start() <= room]
    more = (f"; {advice[1]}" if advice else "") + (f" ({page[1]})" if page else "")
    end = ends[-1] if ends else max(rest.rfind(" ", 0, room), LEAST)
    return f"{name}{rest[:end].rstrip(' ,;:.(')} ...{more}"
