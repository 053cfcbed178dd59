"""Remote sources of pods in the scenario language: a URL, and a live API server."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from kubesim.golang.addresses import url_problem
from kubesim.scenario.language.durations import Duration
from kubesim.scenario.language.sources.source_items import JsonObject, LocalPath, Manifest, PositiveDuration
from kubesim.scenario.language.strict import Strict, as_list, defaults


def _is_url(text: str) -> str:
    if text and (problem := url_problem(text)):
        raise PydanticCustomError("url", "no usable URL: {problem}", {"problem": problem})
    return text


class ServeManifest(Strict):
    """The answer of the http source's URL from now on: a pod or a list, any text, a status, or an error."""

    manifest: Manifest | None = None
    manifests: Annotated[tuple[JsonObject, ...], BeforeValidator(as_list)] = ()  # pods, served as one list
    status: int = Field(default=200, ge=100, le=599)
    error: str = ""  # a connection error instead of an answer
    delay: Duration = 2_000  # after ten seconds the kubelet gives up

    @model_validator(mode="after")
    def _one_answer(self) -> ServeManifest:
        if sum((self.manifest is not None, bool(self.manifests), bool(self.error))) > 1:
            raise PydanticCustomError("answer", "give one of manifest, manifests, error")
        return self


class TlsItem(Strict):
    ca_file: LocalPath = ""
    cert_file: LocalPath = ""
    key_file: LocalPath = ""
    server_name: str = ""
    insecure_skip_verify: bool = False


def one_or_several(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


HeaderValues = Annotated[tuple[str, ...], BeforeValidator(one_or_several), BeforeValidator(as_list)]


class HttpSourceItem(ServeManifest):
    """A URL that all nodes poll, and its initial answer; a URL without an answer is real."""

    url: Annotated[str, AfterValidator(_is_url)] = Field(default="", pattern=r"^(https?://.+)?$")
    header: dict[str, HeaderValues] = Field(default_factory=dict)
    check_every: PositiveDuration | None = None
    tls: TlsItem = defaults()

    @property
    def answers(self) -> bool:
        return bool(self.model_fields_set & ServeManifest.model_fields.keys())


class ApiServerSourceItem(Strict):
    """A live API server, which kubesim only reads: the pods of one of its nodes run on the simulated node of that name.

    Containers behave as the real ones did, unless a behaviour overrides that or `learn` is false.
    """

    node: str = Field(min_length=1)
    kubeconfig: LocalPath = ""
    context: str = ""
    learn: bool = True
    references: bool = False  # whether to check that referenced ConfigMaps, Secrets and claims exist
