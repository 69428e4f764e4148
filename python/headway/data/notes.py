"""Notes in one line: the first clause of a sentence, and the page about it."""

from __future__ import annotations

import re

# Characters that a note takes on one line, at most.
LINE = 140
# A page about the subject of a note.
PAGE = re.compile(r"\s*\((headway docs [\w#/-]+)\)")
# Ends of clauses, without which what stands before them is a sentence as well.
CLAUSE = re.compile(r"[:;] |\. (?=[A-Z])|, (?=and |but |so )|\s(?=\()")
# A clause of fewer characters names its subject alone, as `amrt,load=0.8 and 3 more`.
LEAST = 40


def brief(text: str) -> str:
    """A note in one line of at most `LINE` characters where its clauses allow that; a short note is as it was."""
    if len(text) <= LINE:
        return text
    page = PAGE.search(text)
    more = f" ({page[1]})" if page else ""
    rest = PAGE.sub("", text)
    room = LINE - len(more)
    ends = [found.start() for found in CLAUSE.finditer(rest)]
    fitting = [end for end in ends if LEAST <= end <= room - 4]
    end = fitting[-1] if fitting else rest.rfind(" ", 0, room - 4)
    return f"{rest[: max(end, LEAST)].rstrip(' ,;:.(')} ...{more}"
