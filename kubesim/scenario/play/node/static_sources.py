"""Where the static pods of a scenario come from: simulated files and urls, or real ones.

A path or URL is simulated if the scenario has manifests for it, from the beginning or in its steps. Any other path or
URL, in `sources` or in the kubelet's configuration, is real; kubesim only reads it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from kubesim.scenario.language.document import Spec
from kubesim.sources.manifests.manifest_url import OK, Tls, UrlAnswer, UrlOptions
from kubesim.sources.manifests.simulated_files import DIRECTORY
from kubesim.sources.manifests.simulated_url import NO_PODS, URL, UrlBehaviour
from kubesim.values import value_object

if TYPE_CHECKING:
    from kubesim.scenario.language.sources.remote_source_items import ServeManifest


@value_object
class FilePlan:
    path: str
    real: bool
    period: int


@value_object
class UrlPlan:
    url: str
    real: bool
    period: int
    options: UrlOptions


def file_plan(spec: Spec) -> FilePlan:
    source, values = spec.sources.file, spec.kubelet_configuration.values
    path = source.path or values["staticPodPath"]
    brought = bool(source.manifests) or any(step.write_static_pod or step.remove_static_pod for step in spec.steps)
    period = source.check_every or values["fileCheckFrequency"]
    return FilePlan(path or DIRECTORY, bool(path) and not brought, period)


def url_plan(spec: Spec) -> UrlPlan | None:
    """The polled URL with its period and options; None if there is no http source."""
    source, values = spec.sources.http, spec.kubelet_configuration.values
    url = (source.url if source else "") or values["staticPodURL"]
    if source is None and not url:
        return None
    served = any(step.serve_manifest for step in spec.steps) or (source is not None and source.answers)
    header = {name: tuple(lines) for name, lines in (values["staticPodURLHeader"] or {}).items()}
    tls, period = Tls(), values["httpCheckFrequency"]
    if source is not None:
        header = source.header or header
        tls, period = Tls(**source.tls.model_dump()), source.check_every or period
    return UrlPlan(url or URL, bool(url) and not served, period, UrlOptions(header, tls))


def behaviour(answer: ServeManifest) -> UrlBehaviour:
    """The behaviour of a simulated URL with this answer."""
    if answer.manifests:
        body = json.dumps({"apiVersion": "v1", "kind": "PodList", "items": list(answer.manifests)}).encode()
    elif answer.manifest is not None:
        body = (answer.manifest if isinstance(answer.manifest, str) else json.dumps(answer.manifest)).encode()
    else:
        body = NO_PODS.body if answer.status == OK else b""
    return UrlBehaviour(UrlAnswer(answer.status, body), answer.error, answer.delay)
