"""`python -m headway` is the command line."""

from headway.cli.main import main

if __name__ == "__main__":
    main()
