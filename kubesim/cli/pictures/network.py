"""The real networks of a run in an SVG picture: each node with its bridges and pods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kubesim.cli.output.network_view import cable_ends, link_text, routes
from kubesim.runtime.containerd.cni_settings import NetworkPicture
from kubesim.trace.pictures.svg import fitted, line, rectangle, text
from kubesim.trace.pictures.timeline import MARGIN, WIDTH

COLUMNS, GAP, BAR, LINE = 3, 16, 24, 17  # pods in a row; pixels
_POD_WIDTH = (WIDTH - 4 * MARGIN - (COLUMNS - 1) * GAP) / COLUMNS


class NetworkDrawing:
    """SVG elements for a group that starts at y = 0."""

    def __init__(self, pictures: Sequence[NetworkPicture]) -> None:
        self.elements: list[str] = []
        self.height: float = 0
        for picture in pictures:
            self._node(picture)

    def _node(self, picture: NetworkPicture) -> None:
        top = self.height + GAP
        inside: list[str] = []
        y = top + 26
        inside.append(text(2 * MARGIN, top + 20, f"node {picture.node}", "name"))
        for link, pods in _links(picture):
            y += GAP / 2
            inside.append(rectangle(2 * MARGIN, y, WIDTH - 4 * MARGIN, BAR, fill="running"))
            inside.append(text(2 * MARGIN + 8, y + BAR - 8, link_text(link, picture.own)))
            y = self._pods(inside, pods, picture, y + BAR)
        for words in routes(picture.own):
            y += LINE
            inside.append(text(2 * MARGIN, y + 6, fitted(f"route {words}", WIDTH - 4 * MARGIN), "soft"))
        bottom = y + GAP
        self.elements.append(rectangle(MARGIN, top, WIDTH - 2 * MARGIN, bottom - top, style="box"))
        self.elements += inside
        self.height = bottom + GAP

    def _pods(
        self, out: list[str], pods: Sequence[tuple[str, dict[str, Any], str]], picture: NetworkPicture, bar: float
    ) -> float:
        """Draw the boxes of the pods at a bridge with their cables; returns the y position below them."""
        y = bar
        for first in range(0, len(pods), COLUMNS):
            row = pods[first : first + COLUMNS]
            reported = [[f"route {words}" for words in routes(picture.pods[pod])] for pod, _, _ in row]
            height = 2 * LINE + LINE * max(map(len, reported)) + 10
            top = y + 26
            for column, ((pod, link, port), lines) in enumerate(zip(row, reported, strict=True)):
                x = 2 * MARGIN + column * (_POD_WIDTH + GAP)
                if not first:
                    out.append(line(x + 20, bar, x + 20, top, "cable"))
                out.append(text(x + 28, top - 9, port, "soft"))
                out.append(rectangle(x, top, _POD_WIDTH, height, fill="good"))
                name = f"pod {pod.removeprefix('default/')}"
                for number, words in enumerate([name, link_text(link, picture.pods[pod]), *lines]):
                    style = "" if number else "name"
                    out.append(text(x + 8, top + LINE * (number + 1), fitted(words, _POD_WIDTH - 16), style))
            y = top + height
        return y


def _links(picture: NetworkPicture) -> Iterator[tuple[dict[str, Any], list[tuple[str, dict[str, Any], str]]]]:
    """Each link of a node that is not a port, and its pods: name, link, port name."""
    ends = {link["peer"]: (pod, link) for pod, seen in picture.pods.items() for link in cable_ends(seen)}
    links = picture.own["links"]
    for link in links:
        if not link["up"] or link["master"] or link["name"] == "lo":
            continue
        ports = [port for port in links if port["master"] == link["index"]] or [link]
        yield link, [(*ends[port["index"]], port["name"]) for port in ports if port["index"] in ends]
