"""Commands of a real kubectl with `kubesim up`, compared with their output for a real API server.

The recorded cluster had no kubelet, and the recorder wrote the statuses of its pods; here kubelets bring pods to the
same states. Random and varying values are normalized: ages, times, uids, versions, addresses, generated names, tokens,
column widths, and diffs of Go structs.
"""

from __future__ import annotations

import difflib
import gzip
import json
import re
import shlex
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from tests.support.up import Up, is_ready, running_up

RECORDED = Path(__file__).parents[1] / "cluster" / "data" / "kubectl-commands.jsonl.gz"
SCENARIO = """\
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {name: recorded}
spec:
  nodes:
    - {name: node-a, capacity: {cpu: "4", memory: 8Gi}}
  objects:
    - {apiVersion: v1, kind: Namespace, metadata: {name: kt-dev-a}}
    - {apiVersion: v1, kind: ConfigMap, metadata: {name: cfg, namespace: kt-dev-a}, data: {a: "1", f.txt: "x\\ny\\n"}}
"""
POD = """\
    - apiVersion: v1
      kind: Pod
      metadata: {name: %s, namespace: kt-dev-a, labels: {app: %s}}
      spec:
        automountServiceAccountToken: false
        containers: [{name: main, image: "busybox:1.36"%s}]
%s"""
INIT = """\
        initContainers:
          - {name: i1, image: busybox, command: ["true"]}
          - {name: i2, image: busybox, command: [sleep, "100000"]}
"""
LOOP = ', command: [sh, -c, "trap exit TERM; while true; do sleep 1; done"]'
PODS = (
    ("web", "shop", LOOP, ""),
    ("db", "blog", ', command: [sh, -c, "exit 1"]', ""),
    ("cache", "shop", ', command: ["true"]', "        restartPolicy: OnFailure\n"),
    ("initing", "shop", "", INIT),
    ("waiting", "shop", "", "        nodeSelector: {no: where}\n"),
)
# Commands that change nothing may be repeated until the cluster has caught up.
READING = ("get", "describe", "events", "top", "wait", "rollout", "logs", "diff")
RETRY_S = 15
AGE = r"(?:<invalid>|\d+d\d+h|\d+[dhms](?:\d+[hms])?)"
RANDOM = (
    (r"@TMP@/|/tmp/", "TMP/"),
    (r"(LIVE|MERGED)-\d+", r"\1"),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| \+0000)", "TIME"),
    (r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d \+0000", "TIME"),
    (r'resourceVersion(": |: )"\d+"', r'resourceVersion\1"N"'),
    (r"@TOKEN@|ey[\w-]+\.[\w-]+\.[\w-]+", "TOKEN"),
    (rf"\b\d+ \({AGE} ago\)", "RESTARTS"),
    (rf"(?<![\w.]){AGE}(?![\w.])", "AGE"),
    (r"https?://127.0.0.1:\d+", "ADDRESS"),
    (r"(gg-|debugger-|web-)[a-z0-9]{5,10}(-\w{5})?\b", r"\1RANDOM"),
    (r'"(gitCommit|goVersion|compiler)": "[\w.]+"', r'"\1": "BUILD"'),
    (r"Error  |CrashLoopBackOff", "CRASHED"),
    (r" {2,}", "  "),
    (r"(?m) +$", ""),
)


DIFF = re.compile(r"(may not change fields other than .*)\n(.|\n)*")


def form(text: str) -> str:
    for pattern, replacement in RANDOM:
        text = re.sub(pattern, replacement, text)
    return text


def message_form(text: str) -> str:
    return form(DIFF.sub(r"\1\n", text))


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    directory = tmp_path_factory.mktemp("up")
    (directory / "scenario.yaml").write_text(SCENARIO + "".join(POD % pod for pod in PODS))
    with running_up(directory, "-f", str(directory / "scenario.yaml"), "--speed", "10") as up:
        yield up
        up.stop()  # test_command.py tests how it ends; a response 500 differs from the recording


def is_reading(words: list[str]) -> bool:
    return any(word in READING for word in words[:3])


def play(up: Up, run: dict[str, Any]) -> str:
    """The lines that differ from the recorded ones."""
    words = shlex.split(run["command"])[1:]
    wanted = (run["exit"], form(run["stdout"]), message_form(run["stderr"]))
    until = time.monotonic() + (RETRY_S if is_reading(words) else 0)
    while True:
        done = up.run(*words, input=run.get("stdin", ""), cwd=up.kubeconfig.parent)
        found = (done.returncode, form(done.stdout), message_form(done.stderr))
        if found == wanted or time.monotonic() > until:
            break
        time.sleep(0.2)
    differences = [f"exit {wanted[0]}, here {found[0]}"] if wanted[0] != found[0] else []
    for recorded, here in zip(wanted[1:], found[1:], strict=True):
        differences += list(difflib.unified_diff(str(recorded).splitlines(), str(here).splitlines(), n=0, lineterm=""))
    return "\n    ".join([f"{run['id']} {run['command']}", *differences]) if differences else ""


def test_recorded_commands_print_the_recorded_output(up: Up) -> None:
    """Commands that change nothing run in parallel with their neighbours that change nothing."""
    up.wait_for(lambda: is_ready(up.get("pod", "web", "-n", "kt-dev-a")), "pod web to be ready")
    with gzip.open(RECORDED, "rt") as lines:
        runs: list[dict[str, Any]] = [json.loads(line) for line in lines]
    problems: list[str] = []
    with ThreadPoolExecutor(6) as threads:
        for reading, group in groupby(runs, lambda run: is_reading(shlex.split(run["command"])[1:])):
            for step in [list(group)] if reading else [[run] for run in group]:
                for name, text in [file for run in step for file in run.get("files", {}).items()]:
                    (up.kubeconfig.parent / name).write_text(text)
                problems += filter(None, threads.map(partial(play, up), step))
    assert not problems, "\n".join(problems)
    assert len(runs) > 120


WORKLOADS = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec: {containers: [{name: nginx, image: "nginx:1.25"}]}
"""
# Commands about kinds without controllers in the recorded cluster: exit code, arguments, output.
COMMANDS = (
    (0, "create deployment web --image=nginx:1.25 --replicas=2", "deployment.apps/web created"),
    (0, "rollout status deployment/web --timeout=60s", 'deployment "web" successfully rolled out'),
    (0, "apply -f workloads.yaml", "deployment.apps/shop created"),
    (0, "apply -f workloads.yaml", "deployment.apps/shop unchanged"),
    (0, "diff -f workloads.yaml", ""),
    (0, "expose deployment web --port=80", "service/web exposed"),
    (0, "scale deployment web --replicas=3", "deployment.apps/web scaled"),
    (0, "set image deployment/web nginx=nginx:1.26", "deployment.apps/web image updated"),
    (0, "set env deployment/web A=1", "deployment.apps/web env updated"),
    (0, "set resources deployment/web --limits=cpu=1", "deployment.apps/web resource requirements updated"),
    (0, "rollout restart deployment/web", "deployment.apps/web restarted"),
    (0, "rollout pause deployment/web", "deployment.apps/web paused"),
    (0, "rollout resume deployment/web", "deployment.apps/web resumed"),
    (0, "rollout undo deployment/web", "deployment.apps/web rolled back"),
    (0, "rollout status deployment/web --timeout=60s", 'deployment "web" successfully rolled out'),
    (
        0,
        "get deployment web",
        "NAME  READY  UP-TO-DATE  AVAILABLE  AGE\nweb  3/3  3  3  AGE",
    ),
    (0, "create job j --image=busybox -- echo done", "job.batch/j created"),
    (0, "wait --for=condition=Complete job/j --timeout=30s", "job.batch/j condition met"),
    (0, "logs job/j", "done"),
    (0, "create quota q --hard=pods=50", "resourcequota/q created"),
    (0, "create role r --verb=get --resource=pods", "role.rbac.authorization.k8s.io/r created"),
    (0, "create rolebinding rb --role=r --user=u", "rolebinding.rbac.authorization.k8s.io/rb created"),
    (0, "create service nodeport np --tcp=80", "service/np created"),
    (0, "delete quota,role,rolebinding --all", None),
    (0, "cordon node-a", "node/node-a cordoned"),
    (0, "uncordon node-a", "node/node-a uncordoned"),
    (0, "apply -f workloads.yaml --dry-run=server", "deployment.apps/shop unchanged (server dry run)"),
    (0, "delete -f workloads.yaml", None),
    (0, "delete deployment,job,service --all", None),
)
NEWER = (
    (0, "create cronjob cj --image=busybox --schedule=@daily -- true", "cronjob.batch/cj created"),
    (0, "create pdb p --selector=app=web --min-available=1", "poddisruptionbudget.policy/p created"),
    (0, "get hpa,ingress", "No resources found in default namespace."),
    (0, "create ingress i --class=c --rule=a/b=s:80", "ingress.networking.k8s.io/i created"),
    (0, "get ingress i", "NAME  CLASS  HOSTS  ADDRESS  PORTS  AGE\ni  c  a  80  AGE"),
    (0, "create quota full --hard=configmaps=0", "resourcequota/full created"),
    (0, "get quota full", "configmaps: 1/0"),
    (1, "create configmap more", 'configmaps "more" is forbidden: exceeded quota: full'),
    (0, "delete quota,ingress --all", None),
    (0, "delete cronjob,pdb --all", None),
)


@pytest.mark.parametrize("version", ["1.36", "1.20"])
def test_commands_about_workloads(up: Up, version: str) -> None:
    (up.kubeconfig.parent / "workloads.yaml").write_text(WORKLOADS)
    problems = []
    for code, line, wanted in COMMANDS + (NEWER if version == "1.36" else ()):
        words = line.split(" ")
        until = time.monotonic() + (RETRY_S if words[0] in READING else 0)
        while True:
            done = up.run(*words, version=version, cwd=up.kubeconfig.parent)
            printed = form(done.stdout + done.stderr)
            fits = done.returncode == code and (wanted is None or wanted in printed)
            if fits or time.monotonic() > until:
                break
            time.sleep(0.2)
        if not fits:
            problems.append(f"kubectl {line} [{done.returncode}]\n{printed}")
    assert not problems, "\n".join(problems)


def test_old_kubectl_can_explain_fields(up: Up) -> None:
    """It reads OpenAPI v2 in protobuf."""
    lines = up.kubectl("explain", "deployment.spec.template.spec.containers.image", version="1.20").splitlines()
    assert lines[0].split() == ["KIND:", "Deployment"]
    assert lines[3].split() == ["FIELD:", "image", "<string>"]
