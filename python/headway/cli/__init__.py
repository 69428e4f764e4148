"""The command line. `headway.cli.main` is its entry; each command has its own module."""
