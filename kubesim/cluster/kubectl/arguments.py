"""Resource arguments of a kubectl command line: `pods`, `po,svc`, `all`, `pod web`, `pod/web deploy/api`.

Mirrors: cli-runtime/pkg/resource builder.go; short names and categories from discovery
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from kubesim.cluster.store.kinds import RESOURCES, Resource
from kubesim.cluster.store.served_kinds import resource_for, served_kinds
from kubesim.errors import KubesimError
from kubesim.values import value_object

_EVENTS = "events.k8s.io/v1"  # the same objects as in v1


class KubectlError(KubesimError):
    """An error that kubectl prints on stderr before it exits with 1."""


@value_object
class KubectlTarget:
    """All objects of a kind, or one object."""

    resource: Resource
    name: str | None = None


@cache
def _by_name() -> dict[str, Resource]:
    """Resources by plural, singular and short name, also with the group: `deployments.apps`."""
    served = [resource_for(version, kind) for version, kind in served_kinds() if version != _EVENTS]
    found: dict[str, Resource] = {}
    for resource in reversed([*RESOURCES.values(), *served]):  # the first resource of a name wins
        for name in (resource.plural, resource.kind.lower(), *resource.short_names):
            found[name] = resource
            if resource.group:
                found[f"{name}.{resource.group}"] = found[f"{name}.v1.{resource.group}"] = resource
            if resource is RESOURCES["Event"]:
                found[f"{name}.{_EVENTS.partition('/')[0]}"] = resource
    return found


def resource_named(name: str, others: Iterable[Resource] = ()) -> Resource:
    """The resource of a name. `others` are custom resources."""
    for other in others:
        kind = other.kind.partition(".")[0].lower()
        if name.lower() in (other.plural, kind, other.group_resource, *other.short_names):
            return other
    found = _by_name().get(name.lower())
    if found is None:
        raise KubectlError(f'error: the server doesn\'t have a resource type "{name}"')
    return found


def warnings(words: Sequence[str]) -> list[str]:
    """kubectl's warning about short names shared by two groups."""
    types = {word.partition("/")[0] for word in words[0].split(",")}
    text = 'Warning: short name "ev" could also match lower priority resource events.events.k8s.io'
    return [text] if "ev" in types else []


def targets(words: Sequence[str], others: Iterable[Resource] = ()) -> list[KubectlTarget]:
    """The requested objects, in the order of the arguments."""
    others = list(others)
    if any("/" in word for word in words):
        return [_slashed(word, others) for word in words]
    types, names = words[0], words[1:]
    resources = list(_resources(types.split(","), others))
    if not names:
        return [KubectlTarget(resource) for resource in resources]
    return [KubectlTarget(resource, name) for resource in resources for name in names]


def _slashed(word: str, others: Iterable[Resource]) -> KubectlTarget:
    type, slash, name = word.partition("/")
    if not slash:
        problem = "there is no need to specify a resource type as a separate argument when passing arguments in "
        example = "'kubectl get resource/<resource_name>' instead of 'kubectl get resource resource/<resource_name>'"
        raise KubectlError(f"error: {problem}resource/name form (e.g. {example}")
    if not type or not name or "/" in name:
        raise KubectlError(
            "error: arguments in resource/name form must have a single resource and name"
            if "/" in name
            else f'error: arguments in resource/name form may not have more than one slash, or an empty part: "{word}"'
        )
    return KubectlTarget(resource_named(type, others), name)


def _resources(types: Iterable[str], others: Iterable[Resource]) -> Iterator[Resource]:
    for type in types:
        if type == "all":
            in_all = [each for each in RESOURCES.values() if "all" in each.categories]
            yield from sorted(in_all, key=lambda each: (each.group, each.plural))
        else:
            yield resource_named(type, others)


def name_with_kind(resource: Resource, name: str) -> str:
    """`pod/web`, `deployment.apps/web`."""
    kind = resource.kind.partition(".")[0].lower()
    return f"{kind}.{resource.group}/{name}" if resource.group else f"{kind}/{name}"


def not_found(resource: Resource, name: str) -> KubectlError:
    return KubectlError(f'Error from server (NotFound): {resource.group_resource} "{name}" not found')
