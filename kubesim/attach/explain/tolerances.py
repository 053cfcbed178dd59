"""How far an observation may deviate from the rules before it is reported as a divergence, and why.

Each number is a period of the kubelet, a property of the data, or (in one case) the latency that the Kubernetes project
promises. None was fitted to recordings; recordings only test them.
"""

from __future__ import annotations

from kubesim.api.timestamps import MILLISECOND, SECOND
from kubesim.attach.explain.statement import Due
from kubesim.sources.reflector import reflector_backoff as reflector

# A metav1.Time is truncated to whole seconds, so times appear up to this much earlier.
TRUNCATION = 1 * SECOND
# A smaller difference between the node's clock and ours is not corrected (`Agent.skew`).
CLOCK = 1 * SECOND
# kubelet.go syncLoop: a ticker of one second finds workers that are due again.
SYNC_TICK = 1 * SECOND
# kubelet.go genericPlegRelistPeriod: the next relist, a second after the last, notices what ended in the runtime.
RELIST = 1 * SECOND
# status_manager.go syncPeriod: a status is written when it changes. This ticker checks a terminated pod again that
# could
# not be deleted then because it still had volumes or cgroups. (It also retries a failed write; but our own
# watches also notice a failing API server, and then no divergence is reported.)
STATUS_PERIOD = 10 * SECOND
# The duration of one sync with its runtime calls is not a constant of the kubelet. This is the Kubernetes objective for
# the whole start of a pod with present images, in 99 of 100 cases (the pod startup latency objective).
WORK = 5 * SECOND
# volumemanager reconcilerLoopSleepPeriod: a loop of this period finds a mount that is due again, ...
RECONCILER = 100 * MILLISECOND
# ... and csi_plugin.go csiTimeout is the time after which a driver call has failed.
DRIVER = 120 * SECOND
# client-go reflector.go: a kubelet that lost its API server retries after at most this time, including jitter.
RECONNECT = round(reflector.LONGEST * (1 + reflector.JITTER))

# From a change on the node to its status at the API server: a relist, and the sync that it triggers.
REPORTING = RELIST + WORK

# Added to the latest time after jitter and back-off, until an action is done: the duration of the action itself.
DURATIONS: dict[Due, int] = {
    "accept": WORK,
    "restart": SYNC_TICK + WORK,
    "restart-by": SYNC_TICK + WORK,
    "pull": SYNC_TICK + WORK,
    "mount": RECONCILER + DRIVER,
    "retry": SYNC_TICK + WORK,
    "startup": WORK,
    "readiness": WORK,
    "acknowledge": WORK,
    "kill": WORK,
    "end": WORK,
    "clean-up": STATUS_PERIOD + WORK,
}
# Tolerance before the earliest time. A restart has none: both of its times come from the same clock with the same
# rounding.
EARLY: dict[Due, int] = {
    "restart": 0,
    "pull": TRUNCATION,  # reported by an Event
    "mount": TRUNCATION,
    "startup": CLOCK,  # observed here, counted from a start on the node
    "readiness": CLOCK,
}
