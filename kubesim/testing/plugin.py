"""The pytest plugin: collects `*.scenario.yaml` files as tests, and provides the fixtures `kubesim`, `kubesim_up`,
and `kubesim_node`.

kubesim is imported on first use, so that sessions without it pay nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from kubesim.testing.collecting import ScenarioFile
    from kubesim.testing.driven.driven_cluster import DrivenCluster
    from kubesim.testing.served import ServedCluster, ServedNodes, ServedProcess

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

    with _stopped_at_the_end() as started:

        def start(*options: str, clock: bool = True) -> ServedCluster:
            kubeconfig = tmp_path_factory.mktemp("kubesim") / "kubeconfig"
            started.append(cluster := ServedCluster(kubeconfig, *options, clock=clock))
            return cluster

        yield start


@pytest.fixture(scope="session")
def kubesim_node() -> Iterator[Callable[..., ServedNodes]]:
    """Starts nodes at the API server of a kubeconfig, with the options of `kubesim node`, until the session ends."""
    from kubesim.testing.served import ServedNodes

    with _stopped_at_the_end() as started:

        def start(kubeconfig: str, *options: str, clock: bool = True) -> ServedNodes:
            started.append(nodes := ServedNodes(kubeconfig, *options, clock=clock))
            return nodes

        yield start


@contextmanager
def _stopped_at_the_end() -> Iterator[list[ServedProcess]]:
    started: list[ServedProcess] = []
    yield started
    for process in started:
        process.stop()


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
