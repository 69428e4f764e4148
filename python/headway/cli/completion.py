"""`headway completion`: the script by which a shell completes commands, options and names of scenarios."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from headway.cli.echo import echo

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_HEADWAY_COMPLETE"


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a shell.

    \b
    bash: eval "$(headway completion bash)", in ~/.bashrc
    zsh:  eval "$(headway completion zsh)", in ~/.zshrc
    fish: headway completion fish > ~/.config/fish/completions/headway.fish
    """
    made = get_completion_class(shell)
    assert made is not None
    echo(made(ctx.find_root().command, {}, "headway", VARIABLE).source())


COMMAND = completion
