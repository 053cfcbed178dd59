"""The sources of a scenario: all three through one mux, simulated or real, in virtual time and paced by the wall."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from pydantic import ValidationError

from kubesim.app import run_scenario
from kubesim.errors import UsageError
from kubesim.scenario.ending.result import RunResult
from kubesim.scenario.language.document import Scenario
from kubesim.scenario.load.loader import load_scenario, parse_scenario
from kubesim.scenario.load.overlay import Overlay
from kubesim.scenario.play.node.static_sources import file_plan, url_plan
from kubesim.trace import MemorySink
from kubesim.trace.records import ConfigUpdate, Note, Record
from tests.support.played import Played, pod
from tests.support.sources.web import answering, serving


def pods(*names: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "PodList", "items": [pod(name) for name in names]}


def scenario(**spec: Any) -> Scenario:
    images = [{"name": "*", "present": True}]
    whole = {"metadata": {"name": "story"}, "spec": {"images": images, **spec}}
    return Scenario.model_validate(json.loads(json.dumps(whole)))


def play(reported: Scenario, **options: Any) -> tuple[RunResult, list[Record]]:
    sink = MemorySink()
    result = run_scenario(reported, sinks=(sink,), **options)
    return result, sink.records


def operations(records: list[Record], source: str) -> list[tuple[str, tuple[str, ...]]]:
    found = [record for record in records if isinstance(record, ConfigUpdate) and record.source == source]
    return [(record.op, tuple(name.removeprefix("default/") for name in record.pods)) for record in found]


# -- simulated ----------------------------------------------------------------------------------------------------


def test_a_url_answers_from_the_beginning_and_what_a_step_says() -> None:
    played = Played(
        {"at": "30s", "serveManifest": {"manifest": pods("a", "b")}},
        {"at": "70s", "serveManifest": {"manifests": [pod("b")]}},
        sources={"http": {"manifest": pod("a"), "checkEvery": "10s"}},
        duration="120s",
    )
    assert operations(played.records, "http") == [
        ("ADD", ("a-node-1",)),
        ("ADD", ("b-node-1",)),
        ("REMOVE", ("a-node-1",)),
    ]
    assert played.result.phases["default/b-node-1"] == "Running"


def test_a_pod_of_a_url_can_be_seen_at_the_api_server() -> None:
    played = Played(
        {"at": "25s", "delete": {"pod": "a-node-1"}},
        sources={"http": {"manifest": pod("a")}},
        expect=[{"pod": "a-node-1", "phase": "Running", "by": "24s"}],
    )
    assert played.result.ok
    assert played.result.phases == {"default/a-node-1": "Running"}, "its mirror pod is created again"
    assert "StopContainer" not in played.calls("a-node-1")


def test_two_pods_of_one_name_in_a_list_are_reported_as_an_event() -> None:
    played = Played(sources={"http": {"manifest": pods("a", "a")}})
    assert "FailedValidation" in played.events("a-node-1")
    assert played.calls("a-node-1").count("StartContainer") == 1


def test_all_nodes_ask_the_same_url() -> None:
    nodes = [{"name": "one"}, {"name": "two"}]
    played = Played(sources={"http": {"manifest": pod("a")}}, nodes=nodes, duration="40s")
    assert played.result.phases == {"default/a-one": "Running", "default/a-two": "Running"}


def test_the_whole_life_of_pods_from_three_sources() -> None:
    sources = {"file": {"manifests": {"f.yaml": pod("file")}}, "http": {"manifest": pod("http")}}
    result, _ = play(scenario(sources=sources, objects=[pod("api")]))
    assert result.phases.keys() == {"default/api", "default/file-node-1", "default/http-node-1"}
    assert result.duration < 120_000_000, "all of them are gone long before patience ends"


def test_ticks_that_are_left_out_change_nothing() -> None:
    steps: list[dict[str, Any]] = [
        {"at": "33s", "serveManifest": {"status": 503}},
        {"at": "200s", "serveManifest": {"manifest": "neither"}},
        {"at": "300s", "serveManifest": {"manifest": pods("b"), "delay": "3s"}},
        {"at": "301s", "restart": "kubelet"},
        {"at": "400s", "serveManifest": {"error": "no route to host"}},
    ]
    spec: dict[str, Any] = {"sources": {"http": {"manifest": pod("a")}}, "duration": "600s"}
    for seed in range(3):
        some, every = (Played(*steps, seed=seed, every_tick=tick, **spec) for tick in (False, True))
        assert [record.to_json() for record in some.records] == [record.to_json() for record in every.records]


# -- which are real -----------------------------------------------------------------------------------------------


def test_a_source_with_manifests_is_simulated(tmp_path: Path) -> None:
    path, url = str(tmp_path), "http://127.0.0.1:1/"
    assert not file_plan(scenario().spec).real
    assert file_plan(scenario(sources={"file": {"path": path}}).spec).real
    assert file_plan(scenario(kubeletConfiguration={"staticPodPath": path}).spec).real
    named = file_plan(scenario(sources={"file": {"path": path, "manifests": {"a": pod("a")}}}).spec)
    assert (named.real, named.path) == (False, path)
    step = {"at": "1s", "writeStaticPod": {"file": "a", "manifest": pod("a")}}
    assert not file_plan(scenario(kubeletConfiguration={"staticPodPath": path}, steps=[step]).spec).real

    assert url_plan(scenario().spec) is None
    for spec, real in (
        ({"sources": {"http": {"url": url}}}, True),
        ({"kubeletConfiguration": {"staticPodURL": url}}, True),
        ({"sources": {"http": {}}}, False),
        ({"sources": {"http": {"url": url, "manifest": pod("a")}}}, False),
        ({"sources": {"http": {"url": url}}, "steps": [{"at": "1s", "serveManifest": {"status": 404}}]}, False),
    ):
        plan = url_plan(scenario(**spec).spec)
        assert plan is not None
        assert plan.real == real, spec


def test_periods_and_headers_come_from_the_source_or_else_from_the_configuration() -> None:
    configuration = {
        "fileCheckFrequency": "5s",
        "httpCheckFrequency": "6s",
        "staticPodURL": "http://127.0.0.1:1/",
        "staticPodURLHeader": {"X-Token": ["a", "b"]},
    }
    plain = scenario(kubeletConfiguration=configuration).spec
    plan = url_plan(plain)
    assert plan is not None
    assert (file_plan(plain).period, plan.period) == (5_000_000, 6_000_000)
    assert plan.options.header == {"X-Token": ("a", "b")}
    sources = {"file": {"checkEvery": "1s"}, "http": {"checkEvery": "2s", "header": {"X-Token": "c"}}}
    own = scenario(kubeletConfiguration=configuration, sources=sources).spec
    plan = url_plan(own)
    assert plan is not None
    assert (file_plan(own).period, plan.period, plan.url) == (1_000_000, 2_000_000, "http://127.0.0.1:1/")
    assert plan.options.header == {"X-Token": ("c",)}


def test_paths_begin_where_the_scenario_lies(tmp_path: Path) -> None:
    text = """\
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {name: s}
spec:
  profile: v1.12
  sources:
    file: {path: manifests}
    http: {url: "https://127.0.0.1:1/", tls: {caFile: ca.pem, insecureSkipVerify: true}}
    bootstrapCheckpoint: {path: kept}
  cni: {confDir: net.d, binDirs: [bin]}
"""
    (tmp_path / "s.yaml").write_text(text)
    spec = load_scenario(str(tmp_path / "s.yaml"), overlay=Overlay(allow_host=True)).spec
    sources = spec.sources
    assert (spec.cni.conf_dir, spec.cni.bin_dirs) == (str(tmp_path / "net.d"), (str(tmp_path / "bin"),))
    assert sources.file.path == str(tmp_path / "manifests")
    assert sources.http is not None
    assert sources.bootstrap_checkpoint is not None
    assert sources.http.tls.ca_file == str(tmp_path / "ca.pem")
    assert sources.bootstrap_checkpoint.path == str(tmp_path / "kept")
    allowed = parse_scenario(text, "standard input", overlay=Overlay(allow_host=True))
    assert allowed.spec.sources.file.path == "manifests"


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"sources": {"http": {"url": "ftp://x"}}}, "String should match pattern"),
        ({"sources": {"http": {"manifest": "a", "error": "b"}}}, "give one of manifest, manifests, error"),
        ({"sources": {"http": {"status": 20}}}, "greater than or equal to 100"),
        ({"sources": {"http": {"checkEvery": "0s"}}}, "greater than 0"),
        ({"steps": [{"at": "1s", "serveManifest": {}}]}, "serveManifest needs sources.http"),
        ({"steps": [{"at": "1s", "stop": {"what": "apiserver", "containers": "gone"}}]}, "only a runtime loses"),
    ],
)
def test_mistakes(spec: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        scenario(**spec)


def test_pods_of_a_url_are_looked_at_when_the_file_is_read() -> None:
    text = """\
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {name: s}
spec:
  sources:
    http:
      manifest:
        apiVersion: v1
        kind: PodList
        items:
        - {apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {container: []}}
"""
    with pytest.raises(UsageError) as found:
        parse_scenario(text, "f.yaml")
    assert str(found.value).startswith("f.yaml:11: spec.sources.http.manifest.items[0].spec.container: unknown field")


# -- real ---------------------------------------------------------------------------------------------------------


def real_sources(directory: Path, address: str) -> dict[str, Any]:
    return {"file": {"path": str(directory)}, "http": {"url": address}}


def test_real_files_and_a_real_url_beside_the_api_server(tmp_path: Path) -> None:
    """In virtual time: three minutes of the node in a moment, the url asked repeatedly during that time."""
    (tmp_path / "disk.yaml").write_text(json.dumps(pod("disk")))
    (tmp_path / "kube.yaml").write_text(json.dumps({**pod("kube"), "metadata": {"name": "kube", "namespace": "own"}}))
    asked = []

    def answer(request: web.Request) -> web.Response:
        asked.append(request.headers.get("X-Token"))
        return web.json_response(pods("web", "web-2") if len(asked) > 3 else pod("web"))

    with serving(answering(answer)) as address:
        reported = scenario(
            sources={"file": {"path": str(tmp_path)}, "http": {"url": address, "header": {"X-Token": "t"}}},
            objects=[pod("api")],
            duration="180s",
        )
        result, records = play(reported)
    names = ("default/api", "default/disk-node-1", "own/kube-node-1", "default/web-node-1", "default/web-2-node-1")
    assert result.phases == dict.fromkeys(names, "Running")
    assert asked == ["t"] * 9
    assert operations(records, "http") == [("ADD", ("web-node-1",)), ("ADD", ("web-2-node-1",))]
    assert operations(records, "file")[0][0] == "ADD", "real sources are heard from when the story begins"


def test_the_world_outside_is_left_as_it_is(tmp_path: Path) -> None:
    """At the end of a whole life the pods of real sources go too, and nothing is removed."""
    (tmp_path / "disk.yaml").write_text(json.dumps(pod("disk")))
    with serving(answering(lambda _: web.json_response(pod("web")))) as address:
        result, records = play(scenario(sources=real_sources(tmp_path, address)))
    assert [path.name for path in tmp_path.iterdir()] == ["disk.yaml"]
    assert operations(records, "file")[-1] == ("REMOVE", ("disk-node-1",))
    assert operations(records, "http")[-1] == ("REMOVE", ("web-node-1",))
    assert result.duration < 60_000_000


def test_a_paced_run_notices_changes_while_it_runs(tmp_path: Path) -> None:
    """By the wall clock: a file that is written during that time is read immediately, not at the next check."""
    changed = threading.Event()

    class Watcher:
        """Writes the second file when the pod of the first one runs, from another thread."""

        def __init__(self) -> None:
            self.records: list[Record] = []
            self.writer: threading.Thread | None = None

        def record(self, record: Record) -> None:
            self.records.append(record)
            if self.writer is None and isinstance(record, ConfigUpdate) and record.source == "file" and record.pods:
                self.writer = threading.Thread(target=self.write)
                self.writer.start()

        def write(self) -> None:
            (tmp_path / "two.yaml").write_text(json.dumps(pod("two")))
            changed.set()

    (tmp_path / "one.yaml").write_text(json.dumps(pod("one")))
    watcher = Watcher()
    with serving(answering(lambda _: web.json_response(pod("web")))) as address:
        sources = real_sources(tmp_path, address)
        reported = scenario(sources=sources, objects=[pod("api")], duration="60s")
        result = run_scenario(reported, sinks=(watcher,), speed=100)
    assert changed.is_set()
    names = ("default/api", "default/one-node-1", "default/two-node-1", "default/web-node-1")
    assert result.phases == dict.fromkeys(names, "Running")
    first, second = [r.t for r in watcher.records if isinstance(r, ConfigUpdate) and r.source == "file" and r.pods]
    assert second - first < 15_000_000, "not at the check, twenty seconds of the node later"


def test_a_real_url_that_does_not_answer_blocks_nothing(tmp_path: Path) -> None:
    reported = scenario(sources={"http": {"url": "http://127.0.0.1:9/"}}, objects=[pod("api")], duration="120s")
    result, records = play(reported)
    assert result.phases == {"default/api": "Running"}
    failures = [record.text for record in records if isinstance(record, Note) and "URL" in record.text]
    assert len(failures) == 4
    assert "connection refused" in failures[0]
