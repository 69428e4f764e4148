"""`python -m headway.sweeps FOLDER NUMBER` runs a task of a folder, for the scripts of batch systems."""

import sys

from headway.sweeps.task import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
