"""The responses of registries for the images of a scenario, for any requested name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from kubesim.runtime.simulated.settings import ImageBehaviour
from kubesim.scenario.language.container_items import ImageItem
from kubesim.scenario.play.settings import image_behaviour


class ServedImages(Mapping[str, ImageBehaviour]):
    """By name with tag. The first item that matches a name decides; images that are present are listed."""

    def __init__(self, items: Sequence[ImageItem], present: Mapping[str, ImageBehaviour]) -> None:
        self._items = items
        self._present = present
        self._found: dict[str, ImageBehaviour | None] = {}

    def __getitem__(self, name: str) -> ImageBehaviour:
        if name not in self._found:
            self._found[name] = self._match(name)
        found = self._found[name]
        if found is None:
            raise KeyError(name)
        return found

    def _match(self, name: str) -> ImageBehaviour | None:
        short = name.removeprefix("docker.io/").removeprefix("library/")
        untagged = short.removesuffix(":latest")
        for item in self._items:
            if any(fnmatchcase(each, item.name) for each in (name, short, untagged)):
                return image_behaviour(name, item)
        return None

    def __iter__(self) -> Iterator[str]:
        return iter(self._present)

    def __len__(self) -> int:
        return len(self._present)
