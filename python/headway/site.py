"""The documentation site as the package brings it: `make docs` packs it, and a wheel holds it if it was built then."""

from __future__ import annotations

import hashlib
import tempfile
import zipfile
from pathlib import Path

from headway import __file__ as package
from headway.errors import HeadwayError
from headway.store import cache_folder

ARCHIVE = Path(package).parent / "site.zip"
INDEX = "index.html"


def unpacked_site() -> Path:
    """The first page of the site, unpacked below the user's folder for caches; raises `HeadwayError` without a site."""
    if not ARCHIVE.exists():
        raise HeadwayError("this installation holds no site: `make docs` builds it; `headway docs PAGE` prints a page")
    digest = hashlib.sha256(ARCHIVE.read_bytes()).hexdigest()[:16]
    folder = cache_folder() / f"site-{digest}"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        # Another process may be doing the same: the first one to rename is right.
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix="site-") as scratch:
            with zipfile.ZipFile(ARCHIVE) as archive:
                archive.extractall(Path(scratch, "site"))
            try:
                Path(scratch, "site").rename(folder)
            except OSError:
                if not folder.exists():
                    raise
    return folder / INDEX
