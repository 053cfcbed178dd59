"""Completion scripts for bash, zsh and fish, generated from the command words. Pure: words in, text out.

All three use the same rule: the longest command before the cursor determines the candidates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubesim.cli.testing.completion_words import CommandWords, Flag


def bash(commands: Sequence[CommandWords], scenarios: Sequence[str]) -> str:
    return _BASH.format(
        scenarios=" ".join(scenarios),
        commands="\n".join(_bash_case(command) for command in commands),
        values="\n".join(_bash_values(command) for command in commands if any(flag.argument for flag in command.flags)),
        known=" | ".join(f'"{command.name}"' for command in commands if command.name),
    )


def _bash_case(command: CommandWords) -> str:
    words = " ".join(word for word, _ in command.words)
    flags = " ".join(name for flag in command.flags for name in flag.names)
    return f'        "{command.name}") words="{words}" flags="{flags}" argument="{command.argument}" ;;'


def _bash_values(command: CommandWords) -> str:
    cases = [
        f'                {"|".join(flag.names)}) argument="{flag.argument}" values="{" ".join(flag.words)}" ;;'
        for flag in command.flags
        if flag.argument
    ]
    inside = "\n".join(["            case $before in", *cases, "                *) return 1 ;;", "            esac ;;"])
    return f'        "{command.name}")\n{inside}'


_BASH = """\
# Completion of kubesim for bash: eval "$(kubesim completion bash)"
_kubesim_known() {{
    case $1 in
        {known}) return 0 ;;
    esac
    return 1
}}

# The words, flags and kind of argument of a command.
_kubesim_of() {{
    case $1 in
{commands}
        *) return 1 ;;
    esac
}}

# The values of the flag before the cursor; 1 if it has none.
_kubesim_values() {{
    local before=$2
    case $1 in
{values}
        *) return 1 ;;
    esac
}}

_kubesim() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} command="" word n
    local words="" flags="" argument="" values=""
    for ((n = 1; n < COMP_CWORD; n++)); do
        word="${{command:+$command }}${{COMP_WORDS[n]}}"
        _kubesim_known "$word" && command=$word
    done
    if _kubesim_values "$command" "$previous"; then
        words=$values
    else
        _kubesim_of "$command"
    fi
    COMPREPLY=()
    if [[ $current == -* ]]; then
        words=$flags
        argument=""
    elif [[ $argument == scenario ]]; then
        words="$words {scenarios}"
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
    case $argument in
        file | scenario)
            compopt -o filenames 2>/dev/null
            mapfile -t -O "${{#COMPREPLY[@]}}" COMPREPLY < <(compgen -f -- "$current") ;;
        directory)
            compopt -o filenames 2>/dev/null
            mapfile -t -O "${{#COMPREPLY[@]}}" COMPREPLY < <(compgen -d -- "$current") ;;
    esac
}}
complete -F _kubesim kubesim
"""


def zsh(commands: Sequence[CommandWords], scenarios: Sequence[str]) -> str:
    return _ZSH.format(
        scenarios=" ".join(scenarios),
        known=" | ".join(f'"{command.name}"' for command in commands if command.name),
        commands="\n".join(_zsh_case(command) for command in commands),
        values="\n".join(_bash_values(command) for command in commands if any(flag.argument for flag in command.flags)),
    )


def _zsh_case(command: CommandWords) -> str:
    words = " ".join(f"'{_zsh_described(word, help)}'" for word, help in command.words)
    flags = " ".join(f"'{_zsh_described(name, flag.help)}'" for flag in command.flags for name in flag.names)
    return f'        "{command.name}") commands=({words}) flags=({flags}) argument="{command.argument}" ;;'


def _zsh_described(word: str, help: str) -> str:
    text = help.replace(":", "\\:")
    return f"{word}:{text}" if text else word


_ZSH = """\
#compdef kubesim
# Completion of kubesim for zsh: eval "$(kubesim completion zsh)", after compinit.
_kubesim_known() {{
    case $1 in
        {known}) return 0 ;;
    esac
    return 1
}}

_kubesim_values() {{
    local before=$2
    case $1 in
{values}
        *) return 1 ;;
    esac
}}

_kubesim() {{
    local command="" word argument="" values=""
    local previous=${{words[CURRENT-1]}} current=${{words[CURRENT]}}
    local -a commands flags
    for word in "${{(@)words[2,CURRENT-1]}}"; do
        _kubesim_known "${{command:+$command }}$word" && command="${{command:+$command }}$word"
    done
    if _kubesim_values "$command" "$previous"; then
        [[ -n $values ]] && compadd -- ${{=values}}
    else
        case $command in
{commands}
        esac
        if [[ $current == -* ]]; then
            _describe -o 'flag' flags
            return
        fi
        (( ${{#commands}} )) && _describe 'command' commands
        [[ $argument == scenario ]] && compadd -- {scenarios}
    fi
    case $argument in
        file | scenario) _files ;;
        directory) _files -/ ;;
    esac
}}
if [[ $funcstack[1] == _kubesim ]]; then
    _kubesim "$@"
else
    compdef _kubesim kubesim
fi
"""


def fish(commands: Sequence[CommandWords], scenarios: Sequence[str]) -> str:
    known = " ".join(f"'{command.name}'" for command in commands if command.name)
    lines = [_FISH.format(known=known)]
    for command in commands:
        lines += _fish_lines(command, scenarios)
    return "\n".join(lines) + "\n"


def _fish_lines(command: CommandWords, scenarios: Sequence[str]) -> Iterator[str]:
    start = f"complete -c kubesim -n '__kubesim_is \"{command.name}\"'"
    for word, help in command.words:
        yield f"{start} -a '{word}'" + (f" -d '{help}'" if help else "")
    if command.argument == "scenario":
        yield f"{start} -a '{' '.join(scenarios)}' -d scenario"
    if command.argument in ("file", "scenario"):
        yield f"{start} -F"
    elif command.argument == "directory":
        yield f"{start} -a '(__fish_complete_directories)'"
    for flag in command.flags:
        yield start + _fish_flag(flag)


def _fish_flag(flag: Flag) -> str:
    names = "".join(f" -l {name[2:]}" if name.startswith("--") else f" -s {name[1:]}" for name in flag.names)
    reported = f" -d '{flag.help}'" if flag.help else ""
    if not flag.argument:
        return names + reported
    if flag.argument in ("file", "scenario"):
        return f"{names} -rF{reported}"
    values = f" -a '{' '.join(flag.words)}'" if flag.words else ""
    if flag.argument == "directory":
        values = " -a '(__fish_complete_directories)'"
    return f"{names} -x{values}{reported}"


_FISH = """\
# Completion of kubesim for fish: kubesim completion fish > ~/.config/fish/completions/kubesim.fish
function __kubesim_is
    set -l found ''
    for word in (commandline -opc)[2..-1]
        set -l longer (string trim "$found $word")
        contains -- "$longer" {known}; and set found $longer
    end
    test "$found" = "$argv[1]"
end
complete -c kubesim -f"""
