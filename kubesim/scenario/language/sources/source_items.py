"""Sources of pods besides the simulated API server, in the scenario language."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, Field

from kubesim.scenario.language.durations import Duration
from kubesim.scenario.language.strict import OnUse, Strict, defaults, stand_in
from kubesim.scenario.load.overlay import Overlay
from kubesim.sources.modes import INCREMENTAL, NotificationMode

if TYPE_CHECKING:
    from kubesim.scenario.language.sources.remote_source_items import ApiServerSourceItem, HttpSourceItem
else:
    ApiServerSourceItem = stand_in("sources.remote_source_items.ApiServerSourceItem")
    HttpSourceItem = stand_in("sources.remote_source_items.HttpSourceItem")

JsonObject = dict[str, Any]

Manifest = JsonObject | str  # an object, or the text of a file, which may be invalid
PositiveDuration = Annotated[Duration, Field(gt=0)]
LocalPath = Annotated[str, AfterValidator(lambda value, info: Overlay.of(info).local(value))]


class FileSourceItem(Strict):
    """A directory of manifests on each node: its initial content, and how often the kubelet reads all of it. A path
    without manifests in the scenario is a path on this machine."""

    manifests: dict[str, Manifest] = Field(default_factory=dict)
    path: LocalPath = ""
    check_every: PositiveDuration | None = None


class BootstrapCheckpoint(Strict):
    """Where a kubelet of v1.12 stores bootstrap checkpoints for the next kubelet: on the simulated node, or in a real
    directory."""

    path: LocalPath = ""


class Sources(Strict):
    """Sources of pods besides the simulated API server."""

    file: FileSourceItem = defaults()
    http: OnUse[HttpSourceItem] | None = None
    apiserver: OnUse[ApiServerSourceItem] | None = None
    bootstrap_checkpoint: OnUse[BootstrapCheckpoint] | None = None
    # How the mux notifies the sync loop, until v1.35. Kubelets use incremental; their sync loops ignore a snapshot.
    notification_mode: NotificationMode = INCREMENTAL
