"""The pytest plugin: collects `*.scenario.yaml` files as tests, and provides the fixtures `kubesim` and `kubesim_up`.

kubesim is imported on first use, so that sessions without it pay nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from kubesim.testing.collecting import ScenarioFile
    from kubesim.testing.driven.driven_cluster import DrivenCluster
    from kubesim.testing.served import ServedCluster

SUFFIXES = (".scenario.yaml", ".scenario.yml")
MARKER = """kubesim(base="", *, seed=None, **spec): the cluster of the fixture `kubesim`: a file with a scenario, a
seed, and fields of a scenario's spec, such as nodes, images, profile and behaviours"""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("kubesim")
    group.addoption("--kubesim-update", action="store_true", help="store the timelines that tests compare with")
    group.addoption("--kubesim-seeds", metavar="LIST", default="", help="run each *.scenario.yaml with these: 1..50")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", " ".join(MARKER.split()))
    # pytest rewrites the assertions of all modules in a plugin's package. Rewriting kubesim takes 2.6 s of CPU time in
    # each session without bytecode.
    getattr(config.pluginmanager.rewrite_hook, "_must_rewrite", set()).discard("kubesim")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ScenarioFile | None:
    if not file_path.name.endswith(SUFFIXES):
        return None
    from kubesim.testing.collecting import ScenarioFile

    return ScenarioFile.from_parent(parent, path=file_path)


@pytest.fixture(scope="session")
def kubesim_up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., ServedCluster]]:
    """Starts clusters for real clients with the options of `kubesim up`; they stop with the session."""
    from kubesim.testing.served import ServedCluster

    started: list[ServedCluster] = []

    def start(*options: str) -> ServedCluster:
        cluster = ServedCluster(tmp_path_factory.mktemp("kubesim") / "kubeconfig", *options)
        started.append(cluster)
        return cluster

    yield start
    for cluster in started:
        cluster.stop()


@pytest.fixture
def kubesim(request: pytest.FixtureRequest) -> Iterator[DrivenCluster]:
    """A simulated cluster in virtual time, which advances only on request."""
    from kubesim.testing.driven.driven_cluster import DrivenCluster

    marker = request.node.get_closest_marker("kubesim")
    base, settings = (marker.args[:1] or ("",), dict(marker.kwargs)) if marker else (("",), {})
    path = Path(request.node.path)
    snapshot = path.parent / "__snapshots__" / path.stem / request.node.name.replace("/", "_")
    found = str(path.parent / base[0]) if base[0] else ""
    cluster = DrivenCluster(
        found, snapshot=str(snapshot), update=request.config.getoption("--kubesim-update"), **settings
    )
    yield cluster
    cluster.close()
