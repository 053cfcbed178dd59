"""`kubesim up --state`: acknowledged writes survive a kill at any time."""

from __future__ import annotations

import json
import random
import stat
import threading
import time
from functools import partial
from pathlib import Path

import pytest

from kubesim.clock import run_virtual
from kubesim.cluster.registry.bootstrap import bootstrap
from kubesim.cluster.registry.registry import Target, create
from kubesim.cluster.store.kinds import RESOURCES
from kubesim.cluster.store.store import Store
from kubesim.errors import ApiError, InputError, UsageError
from kubesim.up.state import LOG, StateLog, read_log
from tests.support.processes import start
from tests.support.soak import LONG, SOAK
from tests.support.up import TIMEOUT_S, Up, running_up

KILLS = 200 if SOAK else 3


def a_store() -> Store:
    uids = iter(range(1, 1000))
    store = Store(lambda: 1_000_000, lambda: f"uid-{next(uids)}")
    bootstrap(store)
    return store


def config_map(store: Store, name: str, text: str = "") -> None:
    create(store, Target(RESOURCES["ConfigMap"], "default"), {"metadata": {"name": name}, "data": {"a": text}})


def test_a_new_store_continues_where_the_old_one_ended(tmp_path: Path) -> None:
    old, log = a_store(), StateLog(tmp_path)
    config_map(old, "before")
    log.follow(old)
    config_map(old, "kept", "ä\ud800")
    config_map(old, "gone")
    old.remove("ConfigMap", "default", "gone")
    log.close()
    new, log = a_store(), StateLog(tmp_path)
    seen: list[str] = []
    new.watch("ConfigMap", lambda event: seen.append(event.object.metadata.name))
    log.bring_back(new)
    assert new.resource_version == old.resource_version
    assert {kind: new.list(kind) for kind in old.kinds()} == {kind: old.list(kind) for kind in old.kinds()}
    assert {"before", "kept"} <= set(seen)
    log.close()


def test_changes_before_the_restart_are_unknown(tmp_path: Path) -> None:
    old, log = a_store(), StateLog(tmp_path)
    log.follow(old)
    config_map(old, "a")
    log.close()
    new, log = a_store(), StateLog(tmp_path)
    log.bring_back(new)
    with pytest.raises(ApiError, match="too old resource version"):
        new.open_watch("ConfigMap", since=old.resource_version - 1)
    assert new.open_watch("ConfigMap", since=old.resource_version).drain() == []
    log.close()


def test_a_torn_tail_was_never_acknowledged(tmp_path: Path) -> None:
    store, log = a_store(), StateLog(tmp_path)
    log.follow(store)
    config_map(store, "a")
    path = tmp_path / LOG
    acknowledged = path.stat().st_size
    config_map(store, "b", "ä" * 20)
    log.close()
    whole = path.read_bytes()
    for length in range(acknowledged, len(whole)):
        path.write_bytes(whole[:length])
        names = {name for kind, _, name in read_log(path).objects if kind == "ConfigMap"}
        assert "a" in names
        assert "b" not in names


def test_a_log_goes_on_after_a_torn_tail(tmp_path: Path) -> None:
    old, log = a_store(), StateLog(tmp_path)
    log.follow(old)
    config_map(old, "a")
    config_map(old, "torn")
    log.close()
    path = tmp_path / LOG
    path.write_bytes(path.read_bytes()[:-5])
    new, log = a_store(), StateLog(tmp_path)
    log.bring_back(new)
    log.follow(new)
    config_map(new, "b")
    log.close()
    names = {name for kind, _, name in read_log(path).objects if kind == "ConfigMap"}
    assert {"a", "b"} <= names
    assert "torn" not in names


def test_an_invalid_log_is_reported_with_its_line(tmp_path: Path) -> None:
    (tmp_path / LOG).write_text('{"format":"kubesim-state/1"}\nnonsense\n{}\n')
    with pytest.raises(InputError, match=rf"{LOG}:2: is not the log of a cluster"):
        StateLog(tmp_path)
    (tmp_path / LOG).write_text('{"format":"other"}\n')
    with pytest.raises(InputError, match="format 'other', not 'kubesim-state/1'"):
        read_log(tmp_path / LOG)


def test_two_clusters_cannot_share_a_directory(tmp_path: Path) -> None:
    log = StateLog(tmp_path)
    with pytest.raises(UsageError, match="another kubesim up uses it"):
        StateLog(tmp_path)
    log.close()


def test_a_write_is_on_the_disk_before_it_is_acknowledged(tmp_path: Path) -> None:
    async def main() -> None:
        store, log = a_store(), StateLog(tmp_path)
        log.follow(store)
        config_map(store, "a")
        await log.durable()
        assert log.is_durable
        log.close()

    run_virtual(main)


def test_a_second_cluster_with_the_same_state_ends_without_a_failure(tmp_path: Path) -> None:
    where = ("--state", str(tmp_path / "state"), "--kubeconfig", str(tmp_path / "kubeconfig"))
    for _ in range(2):
        process = start("up", *where, "--for", "200ms", "--speed", "5")
        output, errors = process.communicate(timeout=TIMEOUT_S)
        assert process.returncode == 0, output + errors


class Writer(threading.Thread):
    """Creates ConfigMaps as fast as possible, and records which were acknowledged."""

    def __init__(self, up: Up, prefix: str) -> None:
        super().__init__(daemon=True)
        from kubernetes import client, config

        self.acknowledged: list[str] = []
        self._prefix = prefix
        self._api = client.CoreV1Api(config.new_client_from_config(str(up.kubeconfig)))
        self._map = client.V1ConfigMap

    def run(self) -> None:
        for number in range(1_000_000):
            name = f"{self._prefix}-{number}"
            try:
                self._api.create_namespaced_config_map(
                    "default", self._map(metadata={"name": name}, data={"a": name}), _request_timeout=20
                )
            except Exception:
                return  # the server was killed
            self.acknowledged.append(name)


@LONG
def test_no_acknowledged_write_is_lost_when_it_is_killed(tmp_path: Path) -> None:
    chance, expected = random.Random(1), set[str]()
    for kill in range(KILLS):
        with running_up(tmp_path, "--state", str(tmp_path / "state")) as up:
            found = json.loads(up.kubectl("get", "--raw", "/api/v1/namespaces/default/configmaps"))["items"]
            assert expected <= {item["metadata"]["name"] for item in found}
            writers = [Writer(up, f"w{kill}-{number}") for number in range(2)]
            for writer in writers:
                writer.start()
            for writer in writers:
                up.wait_for(partial(bool, writer.acknowledged), "the first answer")
            time.sleep(chance.random() / 5)
            up.process.kill()
            for writer in writers:
                writer.join()
            up.process.communicate()
            up.kubeconfig.unlink()
            expected |= {name for writer in writers for name in writer.acknowledged}


def test_pods_run_again_after_a_restart(tmp_path: Path) -> None:
    words = ("--state", str(tmp_path / "state"), "--speed", "20")
    with running_up(tmp_path, *words) as up:
        up.run_pod("web", image="nginx")
        uid = up.get("pod", "web")["metadata"]["uid"]
        up.process.kill()
        up.process.communicate()
        up.kubeconfig.unlink()
    with running_up(tmp_path, *words) as up:
        up.wait_for(lambda: restarts(up) == 1, "the container to be started again")
        assert up.get("pod", "web")["metadata"]["uid"] == uid


def test_tokens_are_valid_after_a_restart(tmp_path: Path) -> None:
    words, state = ("--state", str(tmp_path / "state"), "--speed", "20"), tmp_path / "state"
    path = "/var/run/secrets/kubernetes.io/serviceaccount/token"
    with running_up(tmp_path, *words) as up:
        up.run_pod("web", image="nginx")
        tokens = [
            up.kubectl("create", "token", "default", "--duration=24h").strip(),
            up.kubectl("exec", "web", "--", "cat", path),
        ]
        assert [who(up, token) for token in tokens] == ["system:serviceaccount:default:default"] * 2
        assert stat.S_IMODE((state / "token.key").stat().st_mode) == 0o600
        up.stop()
    with running_up(tmp_path, *words) as up:
        assert who(up, tokens[0]) == "system:serviceaccount:default:default"
        up.stop()
    (state / "token.key").unlink()
    with running_up(tmp_path, *words) as up:
        assert who(up, tokens[0]) == "[invalid bearer token, invalid signature, no keys found]"


def who(up: Up, token: str) -> str:
    """The user of a token, or why it has none."""
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
    status = json.loads(up.kubectl("create", "-o", "json", "-f", "-", input=json.dumps(review)))["status"]
    return str(status.get("error") or status["user"]["username"])


@pytest.mark.parametrize("text", ["", "zz", "00ff"])
def test_a_damaged_token_key_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "token.key").write_text(text)
    log = StateLog(tmp_path)
    with pytest.raises(UsageError, match=r"token\.key: is not the key of a cluster: restore it from a copy"):
        log.token_key()
    log.close()


def restarts(up: Up) -> int:
    return sum(each["restartCount"] for each in up.get("pod", "web")["status"].get("containerStatuses", ()))
