"""``tallybayes completion``: commands and options for the shell to complete; file names it completes by itself."""

from __future__ import annotations

import argparse

from tallybayes.cli.parser import COMMANDS, parser

BASH = """\
_tallybayes() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} words=""
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="{commands} --help --version"
    elif [[ "$word" == -* ]]; then
        case ${{COMP_WORDS[1]}} in
{cases}
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o bashdefault -o default -F _tallybayes tallybayes"""


def run(options: argparse.Namespace) -> None:
    """Print the script for the shell."""
    flags = {name: _flags(name) for name in COMMANDS}
    if options.shell == "fish":
        print("\n".join(_fish(flags)))
        return
    if options.shell == "zsh":
        print("autoload -U +X bashcompinit && bashcompinit")
    cases = "\n".join(f'            {name}) words="{" ".join(f for f, _ in of)}" ;;' for name, of in flags.items())
    print(BASH.format(commands=" ".join(COMMANDS), cases=cases))


def _flags(name: str) -> list[tuple[str, str]]:
    """The long options of a command and their help."""
    (choices,) = (a.choices for a in parser()._actions if isinstance(a, argparse._SubParsersAction))
    actions = [action for action in choices[name]._actions if action.help is not argparse.SUPPRESS]
    return [(text, action.help or "") for action in actions for text in action.option_strings if text.startswith("--")]


def _fish(flags: dict[str, list[tuple[str, str]]]) -> list[str]:
    lines = [
        f"complete -c tallybayes -n __fish_use_subcommand -f -a {name} -d {_quoted(summary)}"
        for name, (summary, _) in COMMANDS.items()
    ]
    for name, of in flags.items():
        seen = f"'__fish_seen_subcommand_from {name}'"
        lines += [f"complete -c tallybayes -n {seen} -l {flag[2:]} -d {_quoted(summary)}" for flag, summary in of]
    return lines


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
