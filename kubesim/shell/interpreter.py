"""The shell interpreter: walks a syntax tree, runs its commands in the kernel's processes, and manages variables, traps
and jobs.

It behaves like busybox ash as a container's command. In particular: a trap runs after the foreground command has ended
(but interrupts `wait`). The last command of a script replaces the shell, so that a server started by `sh -c "prepare;
server"` is PID 1 and receives the runtime's signals.
"""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import Any

from kubesim.shell.builtin import (
    BUILTINS,
    ExitShell,
    LeaveLoop,
    ReturnFromFunction,
)
from kubesim.shell.interactive import interact, is_incomplete
from kubesim.shell.kernel.devices import open_for_reading
from kubesim.shell.kernel.files import FileFault
from kubesim.shell.kernel.kernel import CannotFork, Process, suspend
from kubesim.shell.kernel.signals import inherited
from kubesim.shell.kernel.streams import Capture, Stream, make_pipe
from kubesim.shell.kernel.terminal import is_terminal
from kubesim.shell.language.arithmetic import ArithmeticFault
from kubesim.shell.language.expand import ExpansionFault, expand_pattern, expand_text, expand_words
from kubesim.shell.language.parser import parse
from kubesim.shell.language.patterns import PatternTooLong, compile_pattern
from kubesim.shell.language.syntax import (
    Block,
    Case,
    Command,
    For,
    Function,
    Group,
    If,
    Loop,
    Pipeline,
    Redirect,
    Script,
    ShellStatement,
    Simple,
    Subshell,
)
from kubesim.shell.limits import LONG_TEXT, NESTING, SYNTAX_SIZE, is_too_long
from kubesim.shell.programs import QUICK, execute, program_name
from kubesim.shell.programs.registry import OUT_OF_RANGE, emit, program
from kubesim.shell.redirection import CannotRedirect, Saved, keep, redirect, restore, set_stream
from kubesim.shell.state import EXIT_TRAP, ShellState

SHELLS = ("sh", "ash", "bash", "dash")


class Shell(ShellState):
    """A shell process. A subshell is a copy in its own process."""

    __slots__ = ()

    # Whole scripts.

    async def run(self, script: Script) -> int:
        """Run a script and its EXIT trap; returns the exit code."""
        return await self._run(self.run_lines(script, last=True))

    async def run_input(self) -> int:
        """Run the commands on standard input, each as soon as it is complete, and the EXIT trap."""
        return await self._run(self._input_lines())

    async def _input_lines(self) -> int:
        text, tried = "", 0
        while line := await self.process.read_line(self.process.stream(0)):
            self.process.hold(len(line))
            text += line
            if len(text) < tried:
                continue  # parsing a long incomplete command after each of its lines would be quadratic
            script = parse(text)
            if is_incomplete(script):
                tried = 2 * len(text) if len(text) > LONG_TEXT else 0
                continue
            self.process.hold(-len(text))
            text, tried = "", 0
            await self.run_lines(script)
        return await self.run_lines(parse(text))

    async def _run(self, lines: Coroutine[Any, Any, int]) -> int:
        try:
            await lines
        except ExitShell as leaving:
            self.status = leaving.code
        except (ExpansionFault, ArithmeticFault) as fault:
            self.status = await self._complain(str(fault), 2)
        except (LeaveLoop, ReturnFromFunction) as leaving:
            self.status = getattr(leaving, "code", self.status)
        except PatternTooLong as fault:
            self.status = await self._complain(str(fault), 2)
        except RecursionError:
            self.status = await self._complain("nested too deeply", 2)
        except CannotFork:
            self.status = await self._complain("can't fork: Resource temporarily unavailable", 2)
        return await self._run_exit_trap()

    async def run_lines(self, script: Script, *, last: bool = False) -> int:
        """Run the lines of a script; with `last`, its last command may replace this process."""
        for index, line in enumerate(script.lines, 1):
            await self._block(line, tail=last and index == len(script.lines) and not script.error)
        if script.error:
            await self._complain(f"syntax error: {script.error}")
            raise ExitShell(2)
        return self.status

    async def run_text(self, text: str) -> int:
        """Run a text inside the current script: eval, or a trap."""
        self._enter()
        self.spend_on(text)
        try:
            return await self.run_lines(parse(text))
        finally:
            self.depth -= 1

    async def _run_exit_trap(self) -> int:
        text = self.traps.pop(EXIT_TRAP, None)
        if text:
            code = self.status
            try:
                await self.run_text(text)
                self.status = code
            except ExitShell as leaving:
                self.status = leaving.code
        return self.status

    async def run_pending_traps(self) -> None:
        pending = self.process.pending
        while pending:
            text = self.traps.get(pending.pop(0))
            if text:
                code = self.status
                await self.run_text(text)
                self.status = code

    # Lists and pipelines.

    async def _block(self, block: Block, *, tested: bool = False, tail: bool = False) -> int:
        for index, statement in enumerate(block, 1):
            if statement.background:
                await self._start_job(statement)
                self.status = 0
            else:
                await self._statement(statement, tested, tail and index == len(block))
            if self.process.pending:
                await self.run_pending_traps()
        return self.status

    async def _statement(self, statement: ShellStatement, tested: bool, tail: bool) -> int:
        rest_of_it = statement.rest
        await self._pipeline(statement.first, tested or bool(rest_of_it), tail and not rest_of_it)
        for index, (operator, pipeline) in enumerate(rest_of_it, 1):
            if (self.status == 0) == (operator == "&&"):
                last = index == len(rest_of_it)
                await self._pipeline(pipeline, tested or not last, tail and last)
        return self.status

    async def _pipeline(self, pipeline: Pipeline, tested: bool, tail: bool) -> int:
        commands = pipeline.commands
        tested = tested or pipeline.negated
        if len(commands) == 1:
            self.status = await self._command(commands[0], tested, tail and not pipeline.negated)
            may_exit = isinstance(commands[0], Simple | Subshell)
        else:
            self.status = await self._piped(commands)
            may_exit = True
        if pipeline.negated:
            self.status = int(self.status == 0)
        elif self.status and self.errexit and not tested and may_exit:
            raise ExitShell(self.status)
        return self.status

    async def _piped(self, commands: tuple[Command, ...]) -> int:
        children: list[Process] = []
        source: Stream | None = None
        for index, command in enumerate(commands):
            child = self._fork()
            if source is not None:
                set_stream(child.process, 0, source)
                source.release()
            if index < len(commands) - 1:
                reader, writer = make_pipe()
                source = reader.hold()
                set_stream(child.process, 1, writer)
            children.append(child.process)
            self.process.kernel.run(child.process, child._run_command(command))
        codes = [(await self.process.wait_for(child)).code for child in children]
        return next((code for code in reversed(codes) if code), 0) if self.pipefail else codes[-1]

    # Subshells and jobs.

    def _fork(self) -> Shell:
        return self.copy_for(self.process.fork(self.process.argv))

    async def _run_command(self, command: Command) -> int:
        """Run a subshell's only command."""
        return await self.run(Script(((ShellStatement(Pipeline((command,), False), (), False),),)))

    async def _run_block(self, block: Block) -> int:
        return await self.run(Script((block,)))

    async def _start_job(self, statement: ShellStatement) -> None:
        child = self._fork()
        set_stream(child.process, 0, self.process.kernel.null)
        foreground = ShellStatement(statement.first, statement.rest, False)
        self.forget_ended_jobs()
        self.jobs[child.process.pid] = child.process
        self.last_background = str(child.process.pid)
        self.process.kernel.run(child.process, child._run_block((foreground,)))
        await self.process.yield_turn()

    async def command_output(self, script: Script) -> str:
        """The output of a script in a subshell; waits until no process holds its stdout."""
        child = self._fork()
        capture = Capture(self.process.kernel.claim_memory)
        set_stream(child.process, 1, capture)
        self.process.kernel.run(child.process, child.run(script))
        self.substitution_status = (await self.process.wait_for(child.process)).code
        while capture.holders:
            capture.watch(self.process.wake)
            await suspend()
        text = capture.text()
        self.spend_on(text)
        return text

    # Commands.

    async def _command(self, command: Command, tested: bool, tail: bool) -> int:
        if isinstance(command, Simple):
            return await self._simple(command, tail)
        if isinstance(command, Function):
            self.process.hold(SYNTAX_SIZE * command.size)
            self.functions[command.name] = command.body
            return 0
        if not command.redirects:
            return await self._compound(command, tested, tail)
        saved: Saved = []
        try:
            await self._redirect(command.redirects, saved)
            return await self._compound(command, tested, False)
        except CannotRedirect as problem:
            return await self._complain(str(problem))
        finally:
            restore(self.process, saved)

    async def _compound(self, command: Command, tested: bool, tail: bool) -> int:
        if isinstance(command, Group):
            return await self._block(command.body, tested=tested, tail=tail)
        if isinstance(command, Subshell):
            if tail and not self.traps:  # nothing follows, so it needs no process of its own
                raise ExitShell(await self._block(command.body, tail=True))
            child = self._fork()
            child.errexit = self.errexit and not tested
            self.process.kernel.run(child.process, child._run_block(command.body))
            return (await self.process.wait_for(child.process)).code
        if isinstance(command, If):
            for condition, body in command.branches:
                if await self._block(condition, tested=True) == 0:
                    return await self._block(body, tested=tested, tail=tail)
            self.status = 0
            return await self._block(command.otherwise, tested=tested, tail=tail)
        if isinstance(command, Case):
            return await self._case(command, tested, tail)
        assert isinstance(command, Loop | For)
        self.loops += 1
        try:
            return await (self._loop(command, tested) if isinstance(command, Loop) else self._for(command, tested))
        finally:
            self.loops -= 1

    async def _case(self, command: Case, tested: bool, tail: bool) -> int:
        subject = await expand_text(self, command.subject)
        self.spend_on(subject)
        self.status = 0
        for patterns, body in command.arms:
            for pattern in patterns:
                if compile_pattern(await expand_pattern(self, pattern), len(subject)).fullmatch(subject):
                    return await self._block(body, tested=tested, tail=tail)
        return 0

    async def _loop(self, command: Loop, tested: bool) -> int:
        code = 0
        while True:
            try:
                if (await self._block(command.condition, tested=True) == 0) == command.until:
                    return code
                code = await self._block(command.body, tested=tested)
            except LeaveLoop as leaving:
                if not self._stays_in_loop(leaving):
                    return 0

    async def _for(self, command: For, tested: bool) -> int:
        values: Sequence[str] = self.positional[:] if command.words is None else await expand_words(self, command.words)
        self.status = 0
        for value in values:
            self.assign(command.name, value)
            if self.process.spend():
                await self.process.pause()
            try:
                await self._block(command.body, tested=tested)
            except LeaveLoop as leaving:
                if not self._stays_in_loop(leaving):
                    return 0
        return self.status

    @staticmethod
    def _stays_in_loop(leaving: LeaveLoop) -> bool:
        """Whether this loop continues. Re-raises if an outer loop is meant."""
        if leaving.levels > 1:
            raise LeaveLoop(leaving.levels - 1, leaving.again)
        return leaving.again

    async def _simple(self, command: Simple, tail: bool) -> int:
        process = self.process
        if process.spend():
            await process.pause()
        if process.pending:
            await self.run_pending_traps()
        self.substitution_status = 0
        argv = await expand_words(self, command.words)
        assignments = [(name, await expand_text(self, word)) for name, word in command.assignments]
        if self.xtrace:
            shown = [*(f"{name}={value}" for name, value in assignments), *argv]
            await process.write(f"+ {' '.join(shown)}\n", 2)
        saved: Saved = []
        try:
            await self._redirect(command.redirects, saved)
            if not argv:
                for name, value in assignments:
                    self.assign(name, value)
                return self.substitution_status
            if argv == ["exec"]:
                keep(saved)
                return 0
            return await self._run_with(assignments, argv, tail)
        except CannotRedirect as problem:
            return await self._complain(str(problem))
        except FileFault as fault:  # of a write
            return await self._complain(f"write error: {fault}")
        finally:
            if saved:
                restore(process, saved)

    async def _run_with(self, assignments: list[tuple[str, str]], argv: list[str], tail: bool) -> int:
        """Run a command with assignments that apply only to it."""
        if not assignments:
            return await self.run_argv(argv, tail=tail)
        before = [(name, self.variables.get(name), name in self.exported) for name, _ in assignments]
        for name, value in assignments:
            self.assign(name, value)
            self.exported.add(name)
        try:
            return await self.run_argv(argv, tail=tail)
        finally:
            for name, old, was_exported in reversed(before):
                self.restore_variable(name, old)
                if not was_exported:
                    self.exported.discard(name)

    async def run_argv(self, argv: list[str], *, tail: bool = False) -> int:
        """Run a command by its words: function, builtin, or program (in place if it is the last one)."""
        while program_name(argv[0]) == "busybox" and len(argv) > 1:
            argv = argv[1:]
        name = argv[0]
        if name in self.functions:
            return await self._call(self.functions[name], argv)
        if program_name(name) in self.process.kernel.permissions.masked and name not in BUILTINS:
            await self.process.complain(f"{self.arg0}: {name}: Permission denied")
            return 126
        try:
            if (function := BUILTINS.get(name)) is not None:
                return await function(self, argv)
            if (quick := QUICK.get(program_name(name))) is not None:
                result = quick(self.process, argv)
                await emit(self.process, result)
                return result.code
        except (ValueError, OverflowError):
            return await self._complain(f"{name}: {OUT_OF_RANGE}")
        environment = self.environment()
        if is_too_long(argv, environment):
            return await self._complain(f"{name}: Argument list too long", 126)
        if tail and not self.traps:
            return await self.replace(argv, environment)
        child = self.process.fork(argv, environment)
        self.process.kernel.run(child, execute(child, argv))
        return (await self.process.wait_for(child)).code

    async def replace(self, argv: list[str], environment: dict[str, str]) -> int:
        """Replace this process by another program (exec)."""
        self.process.environment = environment
        self.process.dispositions = inherited(self.process.dispositions)
        self.process.pending.clear()
        self.traps = {}
        raise ExitShell(await execute(self.process, argv))

    async def _call(self, body: Command, argv: list[str]) -> int:
        self._enter()
        outer, self.positional = self.positional, argv[1:]
        loops, self.loops = self.loops, 0
        self.local_frames.append({})
        try:
            return await self._command(body, False, False)
        except ReturnFromFunction as returning:
            return returning.code
        finally:
            self.positional, self.loops = outer, loops
            self.depth -= 1
            for name, old in self.local_frames.pop().items():
                self.restore_variable(name, old)

    def _enter(self) -> None:
        if self.depth >= NESTING:
            raise ExpansionFault("nested too deeply")
        self.depth += 1

    async def _redirect(self, redirects: tuple[Redirect, ...], saved: Saved) -> None:
        for each in redirects:
            redirect(self.process, each.descriptor, each.operator, await expand_text(self, each.target), saved)

    async def _complain(self, text: str, code: int = 1) -> int:
        await self.process.write(f"{self.arg0}: {text}\n", 2)
        return code


@program(*SHELLS)
async def shell_program(process: Process, argv: list[str]) -> int:
    """The program `sh`: `sh -c TEXT [NAME ARGUMENT...]`, `sh FILE [ARGUMENT...]`, or a script on standard input."""
    words = argv[1:]
    shell = Shell(process, argv[0], [])
    from_text = False
    while words and words[0][:1] in ("-", "+") and len(words[0]) > 1:
        word = words.pop(0)
        if word == "--":
            break
        if word.startswith("--"):
            continue
        for letter in word[1:]:
            if letter == "o" and words:
                shell.set_option(words.pop(0), word[0] == "-")
            else:
                from_text = from_text or letter == "c"
                shell.set_option(letter, word[0] == "-")
    if from_text:
        if not words:
            return await process.complain(f"{argv[0]}: -c requires an argument") + 1
        text = words.pop(0)
        if words:
            shell.arg0 = words.pop(0)
    elif words:
        text = ""
        shell.arg0 = words[0]
        try:
            text = await process.read_all(open_for_reading(process, words[0]))
        except FileFault:
            return await _missing_script(process, argv[0], words)
        words.pop(0)
    elif is_terminal(process.stream(0)):
        return await interact(shell, shell.run_lines)
    else:
        return await shell.run_input()
    shell.positional = words
    return await shell.run(parse(text))


async def _missing_script(process: Process, arg0: str, words: list[str]) -> int:
    """A script that does not exist. The content of an image is unknown, so as the container's own command it is assumed
    to be a server.
    """
    if process.strict:
        await process.complain(f"{arg0}: can't open '{words[0]}': No such file or directory")
        return 2
    return await execute(process, words)
