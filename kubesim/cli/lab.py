"""`kubesim lab`: learn the kubelet by predicting and then seeing; write labs of your own."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kubesim.cli.output.terminal import say

if TYPE_CHECKING:
    from kubesim.labs.lesson import Lesson, LessonRun
    from kubesim.labs.load import Lab
    from kubesim.labs.progress import Progress
    from kubesim.scenario.language.document import Scenario

HELP = "learn the kubelet: predict what it does, then see it"
DESCRIPTION = """Teaching labs. `list` shows them, `start N` begins one, `check ANSWER` answers its open question.
Progress is kept in the state directory."""

DEFAULT = "of the current lab, unless one is named"


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)

    def action(name: str, help: str, *, labs: bool = True, state: bool = True) -> argparse.ArgumentParser:
        sub = actions.add_parser(name, help=help, description=help[:1].upper() + help[1:] + ".", allow_abbrev=False)
        if labs:
            sub.add_argument("--labs", metavar="DIR", help="where the labs are (environment: KUBESIM_LABS)")
        if state:
            sub.add_argument("--state", metavar="DIR", help="where progress is kept (default: XDG state directory)")
        return sub

    action("list", "one line for each lab")
    start = action("start", "begin a lab, or go on with it: its text and the open question")
    start.add_argument("lab", metavar="N", help="number or name of a lab")
    check = action("check", "answer the open question; without an answer: be asked, or have the task checked")
    check.add_argument(
        "answers", nargs="*", metavar="ANSWER", help="answers to the open questions, one after the other"
    )
    hint = action("hint", "a hint to the open question; more with each time")
    following = action("next", "begin the next lab that is not done")
    reset = action("reset", "forget what was done in a lab, or in all of them")
    reset.add_argument("lab", metavar="N", nargs="?", help="number or name; without it all labs")
    step = action("step", "walk through the run of the current lab")
    step.add_argument("--break-on", action="append", default=[], metavar="CONDITION", help="stop at such records")
    inside = action("inside", f"the code path of what happened, {DEFAULT}")
    inside.add_argument("lab", metavar="N", nargs="?", help="number or name of a lab")
    walk = action(
        "walk", "from a manifest to the first packet: a pod's creation, stop by stop", labs=False, state=False
    )
    walk.add_argument("--markdown", action="store_true", help="as a page for docs/")
    new = action("new", "write a new lab to start from", state=False)
    new.add_argument("name", metavar="NAME", help="small letters, digits and dashes: slow-start")
    validate = action("validate", "hold everything a lab says against its run", state=False)
    validate.add_argument("folders", nargs="*", metavar="FOLDER", help="folders of labs; without them all labs")
    table = action("class", "what a class has done, from the files that --class wrote", labs=False, state=False)
    table.add_argument("files", nargs="+", metavar="FILE", help="results of learners")
    results = "write results there for a teacher to collect (environment: KUBESIM_CLASS)"
    learner = "whose results they are (environment: KUBESIM_LEARNER; default: the user's name)"
    for place in (parser, start, check, hint, following):
        # Before the action or behind it; one that is not given behind it does not undo the other.
        place.add_argument("--class", dest="results", metavar="FILE", default=argparse.SUPPRESS, help=results)
        place.add_argument("--learner", metavar="NAME", default=argparse.SUPPRESS, help=learner)


def execute(args: argparse.Namespace) -> int:
    if args.action == "walk":
        return _walk(args)
    if args.action == "class":
        return _class(args)
    from kubesim.labs.load import labs_directory

    directory = labs_directory(args.labs) if args.action != "new" or args.labs is None else Path(args.labs)
    if args.action == "new":
        from kubesim.labs.scaffold import new_lab

        print(f"{new_lab(directory, args.name)}: change it, then: kubesim lab validate {directory}/...")
        return 0
    if args.action == "validate":
        return _validate(args, directory)
    return _learn(args, directory)


def play(scenario: Scenario) -> LessonRun:
    """What labs are given to play scenarios with."""
    from kubesim.app import run_scenario
    from kubesim.labs.lesson import LessonRun
    from kubesim.trace import MemorySink

    sink = MemorySink()
    result = run_scenario(scenario, sinks=(sink,))
    return LessonRun(tuple(sink.records), result.expectations_failed)


# -- learning ---------------------------------------------------------------------------------------------------


def _learn(args: argparse.Namespace, directory: Path) -> int:
    from kubesim.labs.load import find_lab, find_labs
    from kubesim.labs.progress import Progress, state_directory

    progress = Progress(state_directory(args.state))
    if args.action == "list":
        return _list(find_labs(directory), progress)
    if args.action == "reset":
        return _reset(args.lab and find_lab(directory, args.lab), progress)
    if args.action == "start":
        progress.current = find_lab(directory, args.lab).name
    elif args.action == "next":
        progress.current = _next(find_labs(directory), progress)
    lesson = _lesson(directory, progress, getattr(args, "lab", None))
    try:
        return _act(args, lesson)
    finally:
        # Also if an answer could not be read, or whoever reads has seen enough: what was answered is answered.
        progress.save()
        results = getattr(args, "results", None) or os.environ.get("KUBESIM_CLASS")
        if results and args.action in ("start", "check", "hint", "next"):
            learner = getattr(args, "learner", None) or os.environ.get("KUBESIM_LEARNER") or _user()
            _write_results(Path(results), learner, find_labs(directory), progress)


def _act(args: argparse.Namespace, lesson: Lesson) -> int:
    if args.action in ("start", "next"):
        from kubesim.labs.progress import write_file

        lesson.prepare(write_file)
        _say(lesson.begin())
    elif args.action == "check":
        return _check(args, lesson)
    elif args.action == "hint":
        _say(lesson.hint())
    elif args.action == "inside":
        _say(lesson.inside())
    elif args.action == "step":
        from kubesim.cli.output.stepping import step_through
        from kubesim.trace.stepping import RecordCondition

        breaks = [RecordCondition.parse(text) for text in args.break_on]
        step_through(lesson.records, f"lab {lesson.lab.number}: {lesson.lab.file.title}", breaks)
    return 0


def _lesson(directory: Path, progress: Progress, asked: str | None) -> Lesson:
    from kubesim.errors import UsageError
    from kubesim.labs.lesson import Lesson
    from kubesim.labs.load import find_lab

    if not asked and not progress.current:
        raise UsageError("no lab was begun; kubesim lab start 1")
    lab = find_lab(directory, asked or progress.current)
    return Lesson(lab, progress.of(lab), play, progress.working_copy(lab))


def _say(lines: list[str]) -> None:
    say(*lines)


def _list(labs: list[Lab], progress: Progress) -> int:
    for lab in labs:
        done = progress.labs.get(lab.name)
        answered = 0 if done is None else done.answered(lab)
        state = "done" if done is not None and done.is_done(lab) else f"{answered}/{len(lab.file.questions)}"
        say(f"{lab.number:>2}  {lab.file.title:<32} {state:>4}  {lab.file.about}")
    return 0


def _reset(lab: Lab | None, progress: Progress) -> int:
    names = [lab.name] if lab else list(progress.labs)
    for name in names:
        progress.labs.pop(name, None)
    copies = progress.directory / "labs"
    for copy in [progress.working_copy(lab)] if lab else sorted(copies.glob("*/scenario.yaml")):
        copy.unlink(missing_ok=True)
    if not lab or progress.current == lab.name:
        progress.current = ""
    progress.save()
    print(f"forgotten: {lab.name if lab else 'all labs'}")
    return 0


def _next(labs: list[Lab], progress: Progress) -> str:
    """After the current one, round the end."""
    from kubesim.errors import UsageError

    names = [lab.name for lab in labs]
    start = names.index(progress.current) + 1 if progress.current in names else 0
    for lab in [*labs[start:], *labs[:start]]:
        if not progress.of(lab).is_done(lab):
            return lab.name
    raise UsageError("all labs are done; kubesim lab reset forgets that")


def _check(args: argparse.Namespace, lesson: Lesson) -> int:
    """Answers from the command line, else from whoever types."""
    right = True
    if args.answers:
        for answer in args.answers:
            if lesson.open_question is None:
                break
            right &= _take(lesson, answer)
        _say(lesson.ask())
    elif lesson.open_question is None and not lesson.is_done:
        lines, right = lesson.check_task()
        _say(lines)
        if right:
            _say(lesson.ask())
    else:
        right = _dialogue(lesson)
    return 0 if right else 1


def _take(lesson: Lesson, answer: str) -> bool:
    lines, right = lesson.answer(answer)
    _say([*lines, ""])
    return right


def _dialogue(lesson: Lesson) -> bool:
    """Ask until all is answered or nobody answers any more. An answer that cannot be read is asked for again."""
    from kubesim.errors import UsageError

    right = True
    _say(lesson.ask())
    while lesson.open_question is not None:
        if sys.stdin.isatty():
            print("> ", end="", flush=True)
        line = sys.stdin.readline()
        if not line.strip():
            break
        try:
            right = _take(lesson, line.strip())
        except UsageError as error:
            say(f"{error}\n")
        _say(lesson.ask())
    return right


def _write_results(file: Path, learner: str, labs: list[Lab], progress: Progress) -> None:
    from kubesim.labs.progress import class_results, write_file

    write_file(file, json.dumps(class_results(learner, labs, progress), indent=1) + "\n")


def _user() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "somebody"


# -- teaching ---------------------------------------------------------------------------------------------------


def _validate(args: argparse.Namespace, directory: Path) -> int:
    from kubesim.labs.load import find_labs, load_lab
    from kubesim.labs.validate import problems

    labs = [load_lab(Path(folder)) for folder in args.folders] or find_labs(directory)
    bad = 0
    for lab in labs:
        found = problems(lab, play)
        bad += bool(found)
        say(f"{lab.name}: {'fine' if not found else f'{len(found)} problems'}")
        for problem in found:
            say(f"  {problem}")
    return 1 if bad else 0


def _class(args: argparse.Namespace) -> int:
    from kubesim.errors import UsageError
    from kubesim.labs.progress import class_table

    results: list[dict[str, Any]] = []
    for file in args.files:
        try:
            results.append(json.loads(Path(file).read_text(encoding="utf-8")))
            lines = class_table(results)
        except OSError as error:
            raise UsageError(f"{file}: cannot be read: {error.strerror}") from None
        except (ValueError, KeyError, TypeError, RecursionError):
            raise UsageError(f"{file}: is no file that --class wrote") from None
    _say(lines)
    return 0


def _walk(args: argparse.Namespace) -> int:
    from kubesim.labs.walk import pod_creation

    walk = pod_creation(play)
    _say(walk.markdown() if args.markdown else walk.lines())
    return 0
