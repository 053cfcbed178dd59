"""`kubesim cni info|conf|config-dump|bench`: prints loaded networks, configurations, settings and timings."""

from __future__ import annotations

import argparse
import asyncio
import sys
from typing import Any

from kubesim.cli.output.terminal import say
from kubesim.cni.conf.explain import FileState, explain_conf_dir
from kubesim.cni.exec.process import RealExec
from kubesim.cni.gocni import CNI, LoadOption, NetworkDirectories, with_default_conf, with_lo_network
from kubesim.cni.info import config_dump, crictl_info, status_problem
from kubesim.errors import CniError, UsageError
from kubesim.golang.json import printable_json


def info(args: argparse.Namespace) -> int:
    """JSON as in crictl; returns 1 if the network is not ready."""
    settings = NetworkDirectories(
        args.bin_dir,
        args.conf_dir,
        args.max_conf_num,
        min_networks=1 if args.internal_loopback else 2,
        cache_dir=args.cache_dir,
    )
    cni = CNI(settings, RealExec())
    options: tuple[LoadOption, ...] = (with_lo_network, with_default_conf)
    last_load_status = "OK"
    try:
        cni.load_now(*(options[1:] if args.internal_loopback else options))
    except CniError as error:
        last_load_status = str(error)
    problem = asyncio.run(status_problem(cni))
    print(printable_json(crictl_info(cni, problem, last_load_status), indent=2))
    return 1 if problem else 0


def dump(args: argparse.Namespace) -> int:
    """Print the settings of the CRI plugin for these flags."""
    settings = NetworkDirectories(args.bin_dir, args.conf_dir, args.max_conf_num)
    serially, loopback = args.setup_serially, args.internal_loopback
    say(*config_dump(settings, setup_serially=serially, internal_loopback=loopback).splitlines())
    return 0


def conf(args: argparse.Namespace) -> int:
    """List configurations; returns 1 if none would be loaded, or one is invalid."""
    if args.profile != "v1.36":
        return _print_older_choice(args)
    states = explain_conf_dir(args.conf_dir, args.bin_dir, args.max_conf_num)
    if args.output == "json":
        print(printable_json([_file_json(state) for state in states]))
    else:
        for state in states:
            say(*_file_lines(state))
        if not any(state.state == "loaded" for state in states):
            print(f"nothing would be loaded from {args.conf_dir}")
    loaded = any(state.state == "loaded" for state in states)
    return 0 if loaded and not any(state.state == "bad" or state.missing for state in states) else 1


def _file_lines(state: FileState) -> list[str]:
    lines = [f"{state.name}: {state.state}" + (f": {state.why}" if state.why else "")]
    if state.network is not None:
        network = state.network
        version = network.cni_version or "none, so 0.1.0"
        lines[0] += f" as {state.ifname}: network {network.name!r}, version {version}"
        for plugin in network.plugins:
            ipam = f" with {plugin.network.ipam_type}" if plugin.network.ipam_type else ""
            on = [name for name, enabled in (plugin.network.capabilities or {}).items() if enabled]
            capable = f", capabilities {', '.join(on)}" if on else ""
            lines.append(f"    {plugin.network.type}{ipam}{capable}")
        lines += [f"    missing: {problem}" for problem in state.missing]
    return lines


def _file_json(state: FileState) -> dict[str, Any]:
    out: dict[str, Any] = {"file": state.name, "state": state.state}
    if state.why:
        out["why"] = state.why
    if state.network is not None:
        plugins = [plugin.network.to_json() for plugin in state.network.plugins]
        out |= {"ifname": state.ifname, "network": state.network.name, "cniVersion": state.network.cni_version}
        out |= {"plugins": plugins, "missing": list(state.missing)}
    return out


def _print_older_choice(args: argparse.Namespace) -> int:
    from kubesim.cni.conf.dockershim import pick_for

    pick = pick_for(args.profile, args.conf_dir)
    if args.output == "json":
        skipped = [{"file": path, "why": why} for path, why in pick.skipped]
        chosen = None if pick.network is None else {"file": pick.path, "network": pick.network.name}
        print(printable_json({"skipped": skipped, "chosen": chosen, "error": pick.error}))
        return 0 if chosen else 1
    for path, why in pick.skipped:
        say(f"{path}: skipped: {why}")
    say(pick.error if pick.network is None else f"{pick.path}: chosen: network {pick.network.name!r}")
    return 0 if pick.network is not None else 1


def install(args: argparse.Namespace) -> int:
    from kubesim.cni import plugins

    for name in args.plugins or plugins.SHIPPED:
        if name not in plugins.SHIPPED:
            raise UsageError(f"kubesim has no bundled plugin {name}; bundled are {', '.join(plugins.SHIPPED)}")
        try:
            print(plugins.install(name, args.directory))
        except OSError as error:
            raise UsageError(f"{args.directory}: {error.strerror}") from None
    return 0


def bench(args: argparse.Namespace) -> int:
    from kubesim.cni.bench import run_bench

    try:
        parallel = [int(part) for part in args.parallel.split(",")]
    except ValueError:
        raise UsageError(f"--parallel {args.parallel}: must be numbers, separated by commas") from None
    if min(parallel) < 1 or args.pods < 1 or args.pairs < 1:
        raise UsageError("kubesim cni bench: pods, pairs and parallel must be at least 1")
    run_bench(args.bin_dir, args.pods, args.pairs, parallel, sys.stdout, sys.stderr)
    return 0
