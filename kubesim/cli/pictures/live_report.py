"""The report of a run in progress, over HTTP: the page polls for new records.

`/report` is the page. `/report/data?after=MARK` is the data added since that mark (`trace/report/mark.py`). An open
page gets the end of the run before the server closes.
"""

from __future__ import annotations

import json
from http import HTTPStatus

from kubesim.cli.pictures.report import ReportedRun, page_data
from kubesim.clock import external
from kubesim.clock.stopwatch import Stopwatch
from kubesim.clock.wall_timer import wall_sleep
from kubesim.kubelet.server import JSON, TEXT, Answer
from kubesim.trace.report.mark import Mark, parse_mark
from kubesim.trace.report.page_file import page

PERIOD_S = 1.0  # polling interval of a page
FOLLOWED_S = 5.0  # a page that polled within this time counts as open; the server waits this long for it
HTML = "text/html; charset=utf-8"
_WRONG: Answer = (HTTPStatus.BAD_REQUEST, TEXT, "400 bad request: after=MARK is the mark of an earlier answer\n")
_UNKNOWN: Answer = (HTTPStatus.NOT_FOUND, TEXT, "404 page not found; there are /report and /report/data?after=MARK\n")


class LiveReport:
    """The report of one run; `file` receives the finished report."""

    path = "/report"

    def __init__(self, run: ReportedRun, title: str, file: str) -> None:
        self._run, self._title, self._file = run, title, file
        self._ended = False
        self._watch = Stopwatch()
        self._asked: float | None = None

    def page(self, target: str) -> Answer:
        path, _, query = target.partition("?")
        if path == self.path:
            live = {"url": f"{self.path}/data", "period": round(PERIOD_S * 1000), "file": self._file}
            data = page_data(self._title, [], [self._run.nothing_yet()])
            return HTTPStatus.OK, HTML, page(f"{self._title}: kubesim report", {**data, "live": live}, live=True)
        if path != f"{self.path}/data":
            return _UNKNOWN
        name, _, text = query.partition("=")
        mark = Mark() if not query else parse_mark(text) if name == "after" else None
        if mark is None:
            return _WRONG
        self._asked = self._watch.seconds()
        added, after = self._run.since(mark)
        answer = {**added, "after": str(after), "ended": self._ended}
        return HTTPStatus.OK, JSON, json.dumps(answer, separators=(",", ":"))

    async def ended(self) -> None:
        """Wait briefly until an open page has polled again, and a moment for other pages."""
        self._ended, end = True, self._watch.seconds()
        if self._asked is None or end - self._asked > FOLLOWED_S:
            return
        with external():
            while self._asked < end and self._watch.seconds() - end < FOLLOWED_S:
                await wall_sleep(PERIOD_S / 10)
            await wall_sleep(PERIOD_S)
