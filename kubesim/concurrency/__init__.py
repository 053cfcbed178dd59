"""Go's channels, tickers and select, seeded and inspectable, and tasks that end in the order they started."""

from kubesim.concurrency.channel import Channel, Select, Selected
from kubesim.concurrency.tasks import TaskSet
from kubesim.concurrency.ticker import JitteredTicker, PausingTicker, Ticker, act_every
from kubesim.concurrency.wait_group import run_together

__all__ = [
    "Channel",
    "JitteredTicker",
    "PausingTicker",
    "Select",
    "Selected",
    "TaskSet",
    "Ticker",
    "act_every",
    "run_together",
]
