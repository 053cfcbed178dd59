"""`kubesim explore --all DIR`: a campaign and its report."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kubesim.cli.explore.campaign_log import LOG, CampaignLog
from kubesim.cli.explore.command import EXIT_INTERRUPTED
from kubesim.cli.output.terminal import safe, say, warn
from kubesim.errors import UsageError

if TYPE_CHECKING:
    from kubesim.explore.campaign.campaign import CampaignPlan, CampaignState
    from kubesim.explore.campaign.episodes import Episode


def run_campaign(args: argparse.Namespace) -> int:
    from kubesim.cli.executor_flags import make_executor
    from kubesim.cli.explore.report import ProgressLine
    from kubesim.cli.explore.result_files import check_output
    from kubesim.cli.explore.search import check_installed
    from kubesim.cli.run import terminated_as_interrupted
    from kubesim.explore.campaign.campaign import Campaign

    for flag in ("shard", "feature_gates", "show_missing"):
        if getattr(args, flag, None):
            raise UsageError(f"--{flag.replace('_', '-')} has no effect with --all: remove it")
    if args.format == "jsonl":
        raise UsageError(f"-o jsonl has no effect with --all: the lines of the campaign are in DIR/{LOG}")
    check_installed()
    plan = _plan(args)
    directory = args.output or Path(f"explore-{args.all.resolve().name}")
    check_output(directory)
    log = CampaignLog(directory, _about(plan))
    if log.state.episodes:
        warn(f"{directory} has {len(log.state.episodes)} episodes with {log.state.runs:,} runs: this continues them")
    executor, line, interrupted = make_executor(args), ProgressLine(sys.stderr), False
    campaign = Campaign(plan, executor, log.state, log.write_findings, log.write_episode, line.show)
    with terminated_as_interrupted():
        try:
            campaign.run()
        except KeyboardInterrupt:
            interrupted = True
        finally:
            line.clear()
            executor.close()
    _print(args.format, log, len(plan.files), interrupted)
    return EXIT_INTERRUPTED if interrupted else 1 if log.state.known else 0


def _plan(args: argparse.Namespace) -> CampaignPlan:
    from kubesim.cli.explore.search import budget_of, checks_of, effects_of
    from kubesim.cli.flags import options
    from kubesim.explore.campaign.campaign import CampaignPlan
    from kubesim.explore.search.exploration import Settings

    settings = Settings(effects=effects_of(args), budget=budget_of(args), seed=options.seed(args) or 0)
    return CampaignPlan(tuple(scenarios_in(args.all)), settings, checks_of(args), options.profile(args))


def scenarios_in(directory: Path) -> list[str]:
    """The files of kind Scenario in a directory and its folders. Raises UsageError if there are none."""
    from kubesim.errors import KubesimError
    from kubesim.testing.cases import collect

    if not directory.is_dir():
        raise UsageError(f"--all {directory}: not a directory; to explore one file: kubesim explore {directory}")
    try:
        files = list(dict.fromkeys(case.file for case in collect([str(directory)]).cases))
    except KubesimError as error:
        raise UsageError(f"--all {directory}: {error}") from None
    if not files:
        raise UsageError(f"--all {directory}: has no scenario")
    return files


def _about(plan: CampaignPlan) -> dict[str, Any]:
    """The settings that must be equal when the campaign continues. The budget may change."""
    from kubesim import __version__

    settings = plan.settings
    return {
        "version": __version__,
        "files": list(plan.files),
        "faults": list(settings.effects),
        "invariants": list(plan.checked),
        "profile": plan.profile,
        "seed": settings.seed,
    }


def _print(format: str, log: CampaignLog, files: int, interrupted: bool) -> None:
    if format == "json":
        shown = [episode.to_json() for episode in log.state.episodes]
        whole = {"runs": log.state.runs, "seconds": round(log.state.seconds, 3), "interrupted": interrupted}
        print(json.dumps({**whole, "rules": sorted(log.state.rules), "episodes": shown}, indent=2))
        return
    say(*_lines(log, files, interrupted))


def _lines(log: CampaignLog, files: int, interrupted: bool) -> Iterator[str]:
    state = log.state
    for number, (episode, rule) in enumerate(_found(state), start=1):
        yield f"{number}. {safe(rule)}: {episode.draw.file}, {episode.draw.profile}, seed {episode.draw.seed}"
        path = next(iter(sorted(log.directory.glob(f"{number}-*.yaml"))), None)
        if path is not None:
            yield f"   kubesim run {path}"
    refused = {episode.draw.file: episode.problem for episode in state.episodes if episode.problem}
    for file, problem in sorted(refused.items()):
        yield f"not explored: {problem if file in problem else f'{file}: {problem}'}"
    yield from _growth(state)
    found = len(state.known)
    rate = sum(each.runs + each.shrinking for each in state.episodes) / state.seconds if state.seconds else 0.0
    what = f"{found} finding{'' if found == 1 else 's'}" if found else "nothing found"
    drawn = len({episode.draw.file for episode in state.episodes})
    ended = "interrupted: " if interrupted else ""
    speed = f"{state.seconds:.0f} s, {rate:.0f} runs/s"
    searched = f"{len(state.episodes)} episodes of {drawn} of {files} scenarios"
    yield f"{ended}{what}; {state.runs:,} runs in {speed}; {len(state.rules)} rules reached; {searched}"
    if interrupted:
        yield f"the same command continues it; what it found is in {log.directory}"


def _found(state: CampaignState) -> Iterator[tuple[Episode, str]]:
    return ((episode, rule) for episode in state.episodes for rule, _ in episode.findings)


def _growth(state: CampaignState) -> Iterator[str]:
    """`rules reached after 96, 480, 960 runs: 112, 180, 201`: an estimate of what a longer campaign would find."""
    runs = rules = 0
    points = []
    for episode in state.episodes:
        runs, rules = runs + episode.runs, rules + len(episode.new_rules)
        points.append((runs, rules))
    step = max(1, len(points) // 5)
    shown = points[step - 1 :: step]
    if len(shown) > 1:
        after = ", ".join(f"{runs:,}" for runs, _ in shown)
        yield f"rules reached after {after} runs: {', '.join(str(rules) for _, rules in shown)}"
