"""How far an observation may deviate from the rules before it is reported as a divergence, and why.

Each number is one of the kubelet's own periods, a property of the data, or (one of them) the speed that the project
promises. None was fitted to recordings: those only test them.
"""

from __future__ import annotations

from kubesim.api.timestamps import MILLISECOND, SECOND
from kubesim.attach.explain.statement import Due
from kubesim.sources.reflector import reflector_backoff as reflector

# A metav1.Time is written in whole seconds; what came after is cut off, so that times appear up to this much earlier.
TRUNCATION = 1 * SECOND
# A difference between the node's clock and ours that is smaller than this is not corrected (`Agent.skew`).
CLOCK = 1 * SECOND
# kubelet.go syncLoop: a worker that is due again is found by a ticker of one second.
SYNC_TICK = 1 * SECOND
# kubelet.go genericPlegRelistPeriod: what ended in the runtime is noticed by the next relist, a second after the last.
RELIST = 1 * SECOND
# status_manager.go syncPeriod: a status is written when it changes. A terminated pod whose volumes or groups were not
# yet given back then, and so could not be deleted, is looked at again by this ticker. (So is a write that failed; but
# our own watches notice a failing API server too, and then no divergence is reported.)
STATUS_PERIOD = 10 * SECOND
# What one sync with its calls to the runtime takes is no constant of the kubelet. This is what Kubernetes promises for
# the whole start of a pod whose images are there, in 99 of 100 cases (the pod startup latency objective).
WORK = 5 * SECOND
# volumemanager reconcilerLoopSleepPeriod: a mount that is due again is found by a loop of this period, ...
RECONCILER = 100 * MILLISECOND
# ... and csi_plugin.go csiTimeout is how long a driver may take before it has failed (again).
DRIVER = 120 * SECOND
# client-go reflector.go: a kubelet that lost its API server retries after at most this, jitter included.
RECONNECT = round(reflector.LONGEST * (1 + reflector.JITTER))

# Between a change on the node and its status at the API server: a relist, and the sync that it leads to.
TELLING = RELIST + WORK

# Added to the latest time from jitter and back-off, until an action is done; the action itself is the last part of it.
DOING: dict[Due, int] = {
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
# Tolerance before the earliest moment. A restart has none: both of its times come from the same clock with the same
# rounding.
EARLY: dict[Due, int] = {
    "restart": 0,
    "pull": TRUNCATION,  # reported by an Event
    "mount": TRUNCATION,
    "startup": CLOCK,  # observed here, counted from a start at the node
    "readiness": CLOCK,
}
