"""Commands of kubectl that follow or change objects step by step: watches, edit, rollouts, drains, waits."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.up import TIMEOUT_S, Up, running_up

both = pytest.mark.parametrize("version", ["1.36", "1.20"])
ROWS = re.compile(r" {2,}")


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    with running_up(tmp_path_factory.mktemp("up"), "--nodes", "2", "--speed", "20") as up:
        yield up
        code, out, error = up.stop()
        assert (code, error) == (0, ""), out


@contextmanager
def watching(up: Up, *words: str, version: str) -> Iterator[Iterator[list[str]]]:
    """The rows that `kubectl get -w` prints, as their columns."""
    command = up.command("get", *words, "-w", version=version)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield (ROWS.split(line.rstrip("\n")) for line in process.stdout)
        finally:
            process.send_signal(signal.SIGINT)


@both
def test_get_w_prints_a_row_for_each_change(up: Up, version: str) -> None:
    name = f"watched-{version.replace('.', '-')}"
    up.kubectl("run", name, "--image=nginx", "--labels=w=1", "--overrides", '{"spec":{"schedulerName":"nobody"}}')
    with watching(up, "pods", "-l", "w=1", version=version) as rows:
        assert next(rows) == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
        assert next(rows)[:4] == [name, "0/1", "Pending", "0"]
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": {"name": "node-1"}}
        up.create_raw(f"/api/v1/namespaces/default/pods/{name}/binding", binding)
        seen = [next(rows)[:4]]
        while seen[-1][2] != "Running":
            seen.append(next(rows)[:4])
        assert {row[2] for row in seen} == {"Pending", "ContainerCreating", "Running"}
        up.kubectl("delete", "pod", name, "--wait=false")
        seen = [next(rows)[:4]]
        while seen[-1][2] == "Running":
            seen.append(next(rows)[:4])
        assert seen[-1] == [name, "1/1", "Terminating", "0"]


@both
def test_get_w_names_the_kind_of_event(up: Up, version: str) -> None:
    map_name = f"followed-{version.replace('.', '-')}"
    up.kubectl("create", "configmap", map_name)
    words = ("configmap", map_name, "--output-watch-events")
    with watching(up, *words, version=version) as rows:
        assert next(rows) == ["EVENT", "NAME", "DATA", "AGE"]
        assert next(rows)[:3] == ["ADDED", map_name, "0"]
        up.kubectl("patch", "configmap", map_name, "-p", '{"data":{"a":"b"}}')
        assert next(rows)[:3] == ["MODIFIED", map_name, "1"]
        up.kubectl("delete", "configmap", map_name)
        assert next(rows)[:3] == ["DELETED", map_name, "1"]


def editor(tmp_path: Path, script: str) -> dict[str, str]:
    """The environment for an editor that runs this script with the file as its argument."""
    path = tmp_path / "editor"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return {**os.environ, "KUBE_EDITOR": str(path)}


def edit(up: Up, env: dict[str, str], *words: str, version: str = "1.36") -> subprocess.CompletedProcess[str]:
    command = up.command("edit", *words, version=version)
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)


@both
def test_edit_sends_a_patch_of_what_was_changed(up: Up, version: str, tmp_path: Path) -> None:
    name = f"edited-{version.replace('.', '-')}"
    up.kubectl("create", "configmap", name, "--from-literal=a=before")
    env = editor(tmp_path, 'sed -i "s/before/after/" "$1"')
    done = edit(up, env, "configmap", name, version=version)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"configmap/{name} edited\n", "")
    assert up.get("configmap", name)["data"] == {"a": "after"}
    done = edit(up, editor(tmp_path, "true"), "configmap", name, version=version)
    assert (done.returncode, done.stderr) == (0, "Edit cancelled, no changes made.\n")


def test_edit_of_a_field_that_cannot_change_opens_the_editor_again(up: Up, tmp_path: Path) -> None:
    """The second time the file begins with the reason, and the editor gives up."""
    up.kubectl("run", "fixed", "--image=nginx")
    script = f'cp "$1" {tmp_path}/last; sed -i "s/restartPolicy: Always/restartPolicy: Never/" "$1"'
    done = edit(up, editor(tmp_path, script), "pod", "fixed")
    assert done.returncode == 1
    assert 'error: pods "fixed" is invalid' in done.stderr
    assert '# pods "fixed" was not valid:' in (tmp_path / "last").read_text()
    assert up.get("pod", "fixed")["spec"]["restartPolicy"] == "Always"


def test_edit_of_a_subresource(up: Up, tmp_path: Path) -> None:
    up.kubectl("run", "sub", "--image=nginx", "--overrides", '{"spec":{"schedulerName":"nobody"}}')
    env = editor(tmp_path, 'sed -i "s/^  phase: Pending/&\\n  message: edited/" "$1"')
    done = edit(up, env, "pod", "sub", "--subresource=status")
    assert (done.returncode, done.stderr) == (0, "")
    assert up.get("pod", "sub")["status"]["message"] == "edited"


@both
def test_a_rollout_has_a_history_and_goes_back(up: Up, version: str) -> None:
    name = f"rolled-{version.replace('.', '-')}"

    def run(*words: str) -> str:
        return up.kubectl(*words, version=version)

    run("create", "deployment", name, "--image=nginx:1")
    run("rollout", "status", f"deployment/{name}", "--timeout=60s")
    run("set", "image", f"deployment/{name}", "nginx=nginx:2")
    run("annotate", f"deployment/{name}", "kubernetes.io/change-cause=newer")
    run("rollout", "status", f"deployment/{name}", "--timeout=60s")
    history = [line.split() for line in run("rollout", "history", f"deployment/{name}").splitlines() if line]
    assert history == [
        [f"deployment.apps/{name}"],
        ["REVISION", "CHANGE-CAUSE"],
        ["1", "<none>"],
        ["2", "newer"],
    ]
    assert "Image:\tnginx:2" in run("rollout", "history", f"deployment/{name}", "--revision=2")
    assert run("rollout", "undo", f"deployment/{name}", "--to-revision=1") == f"deployment.apps/{name} rolled back\n"
    run("rollout", "status", f"deployment/{name}", "--timeout=60s")
    assert up.get("deployment", name)["spec"]["template"]["spec"]["containers"][0]["image"] == "nginx:1"
    done = up.run("rollout", "undo", f"deployment/{name}", "--to-revision=9", version=version)
    assert (done.returncode, done.stderr) == (1, "error: unable to find specified revision 9 in history\n")
    run("delete", "deployment", name)


@both
def test_drain_evicts_and_respects_a_budget(up: Up, version: str) -> None:
    name = f"drained-{version.replace('.', '-')}"
    up.kubectl("create", "deployment", name, "--image=nginx", "--replicas=2")
    up.kubectl("create", "pdb", name, f"--selector=app={name}", "--min-available=2")
    up.kubectl("rollout", "status", f"deployment/{name}", "--timeout=60s")
    up.wait_for(lambda: up.get("pdb", name)["status"].get("currentHealthy") == 2, "the budget to count the pods")
    node = up.get("pods", "-l", f"app={name}")["items"][0]["spec"]["nodeName"]
    refused = up.run("drain", node, "--ignore-daemonsets", "--force", "--timeout=2s", version=version)
    assert refused.returncode == 1
    assert "Cannot evict pod as it would violate the pod's disruption budget." in refused.stderr
    up.kubectl("delete", "pdb", name)
    done = up.kubectl("drain", node, "--ignore-daemonsets", "--force", "--timeout=60s", version=version)
    lines = done.splitlines()
    assert lines[0] == f"node/{node} already cordoned"
    assert f"evicting pod default/{name}" in done
    assert lines[-1] == f"node/{node} {'drained' if version == '1.36' else 'evicted'}"
    assert up.get("node", node)["spec"]["unschedulable"]
    assert up.kubectl("uncordon", node, version=version) == f"node/{node} uncordoned\n"
    up.kubectl("delete", "deployment", name)


def test_wait_for_creation_a_condition_a_value_and_the_end(up: Up) -> None:
    command = up.command("wait", "--for=create", "pod/later", "--timeout=60s")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as waiting:
        up.kubectl("run", "later", "--image=nginx")
        assert waiting.communicate(timeout=TIMEOUT_S)[0] == "pod/later condition met\n"
    assert up.kubectl("wait", "--for=condition=Ready", "pod/later", "--timeout=60s") == "pod/later condition met\n"
    value = "--for=jsonpath={.status.containerStatuses[0].restartCount}=0"
    assert up.kubectl("wait", value, "pod/later") == "pod/later condition met\n"
    command = up.command("wait", "--for=delete", "pod/later", "--timeout=60s")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as waiting:
        up.kubectl("delete", "pod", "later", "--now")
        waiting.communicate(timeout=TIMEOUT_S)
        assert waiting.returncode == 0


@both
def test_delete_with_force_leaves_at_once(up: Up, version: str) -> None:
    name = f"forced-{version.replace('.', '-')}"
    up.run_pod(name, "sh", "-c", "trap '' TERM; while true; do sleep 1; done")
    done = up.run("delete", "pod", name, "--force", "--grace-period=0", version=version)
    assert done.returncode == 0
    assert (
        "Immediate deletion does not wait for confirmation that the running resource has been terminated" in done.stderr
    )
    assert up.run("get", "pod", name).returncode == 1


@both
def test_delete_waits_for_the_grace_period(up: Up, version: str) -> None:
    name = f"graceful-{version.replace('.', '-')}"
    up.run_pod(name, "sh", "-c", "trap '' TERM; while true; do sleep 1; done")
    up.kubectl("delete", "pod", name, "--grace-period=5", version=version)
    assert "Killing" in {
        each["reason"] for each in up.get("events", f"--field-selector=involvedObject.name={name}")["items"]
    }


@both
def test_patches_of_every_type(up: Up, version: str) -> None:
    name = f"patched-{version.replace('.', '-')}"
    up.kubectl("create", "deployment", name, "--image=nginx:1")
    deployment = f"deployment/{name}"

    def patch(kind: str, text: str) -> None:
        printed = up.kubectl("patch", deployment, f"--type={kind}", "-p", text, version=version)
        assert printed == f"deployment.apps/{name} patched\n"

    container = '{"name":"nginx","env":[{"name":"A","value":"1"}]}'
    patch("strategic", f'{{"spec":{{"template":{{"spec":{{"containers":[{container}]}}}}}}}}')
    patch("merge", '{"metadata":{"labels":{"merged":"yes","app":null}}}')
    patch("json", '[{"op":"replace","path":"/spec/replicas","value":0}]')
    found = up.get("deployment", name)
    (left,) = found["spec"]["template"]["spec"]["containers"]
    assert (left["image"], left["env"]) == ("nginx:1", [{"name": "A", "value": "1"}])
    assert found["metadata"]["labels"] == {"merged": "yes"}
    assert found["spec"]["replicas"] == 0
    up.kubectl("delete", deployment)


@both
def test_run_with_rm_prints_the_output_and_removes_the_pod(up: Up, version: str) -> None:
    words = ("run", f"once-{version.replace('.', '-')}", "--rm", "-i", "--restart=Never", "--image=busybox", "--")
    out = up.kubectl(*words, "sh", "-c", "read line; echo got $line", input="hello\n", version=version)
    assert "got hello" in out
    assert "deleted" in out


def test_debug_adds_a_container_and_attaches(up: Up) -> None:
    up.run_pod("debugged", image="nginx")
    words = ("debug", "debugged", "-i", "--image=busybox", "--target=debugged", "--", "sh", "-c", "cat; exit")
    done = up.run(*words, input="through the debugger\n")
    assert done.returncode == 0
    (ephemeral,) = up.get("pod", "debugged")["spec"]["ephemeralContainers"]
    up.wait_for(
        lambda: "through the debugger" in up.kubectl("logs", "debugged", "-c", ephemeral["name"]), "the debugger's log"
    )
    copied = up.kubectl("debug", "debugged", "--copy-to=copy", "--image=busybox", "--attach=false")
    assert copied == "" or "Defaulting" in copied
    assert len(up.get("pod", "copy")["spec"]["containers"]) == 2
