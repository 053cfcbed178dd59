"""The underlay: the process that creates private nodes, and the switch that connects them.

It owns the user namespace; every node is a process in it with its own mount, network and PID namespaces. The nodes of a
cluster share the user namespace, because otherwise no link between two nodes could be created. `holder_client.py`
starts it as a separate program, before any import or action that could create a second thread.

    python -c '...' ROOT FD PARENT private|host [FD-TO-KEEP-OPEN ...]
"""

from __future__ import annotations

import os
import signal
import socket
import sys

from kubesim.linux import rtnetlink
from kubesim.linux.private_node import holder_messages as messages
from kubesim.linux.private_node import private
from kubesim.linux.private_node.holder import Holder

SWITCH = "lan"


def main(arguments: list[str]) -> None:
    requests = socket.socket(fileno=int(arguments[0]))
    parent, kind, kept = int(arguments[1]), arguments[2], map(int, arguments[3:])
    for fd in (requests.fileno(), *kept):  # every started process inherits all other descriptors
        os.set_inheritable(fd, False)
    if kind == "host":
        private.adopt_orphans()
        messages.send(requests, {})
        Holder(requests, is_private=False).serve()
        return
    try:
        private.become_root()
        rtnetlink.add_bridge(SWITCH)
    except private.Forbidden as error:
        messages.send(requests, _error_message(error))
        return
    private.die_with_parent(parent)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps ended nodes
    messages.send(requests, {})
    number = 0
    while True:
        message, _ = messages.receive(requests)
        if message is None:
            return
        try:
            ours, theirs = _new_node(number, requests)
            messages.send(requests, {}, [ours.fileno()])
            ours.close()
            theirs.close()
            number += 1
        except private.Forbidden as error:
            messages.send(requests, _error_message(error))


def _new_node(number: int, requests: socket.socket) -> tuple[socket.socket, socket.socket]:
    """Start a node with its veth cable. Returns its socket and its exit descriptor."""
    ours, theirs = messages.pair()
    said, say = messages.pair()
    launcher = os.getpid()
    pid = os.fork()
    if pid == 0:
        ours.close()
        said.close()
        requests.close()
        _launch(launcher, theirs, say)
    say.close()
    with said:
        message, fds = messages.receive(said)
    if message is None or "problem" in message:
        message = message or {"step": "a node", "errno": 0, "problem": "it ended immediately"}
        raise private.Forbidden(message["step"], OSError(message["errno"], message["problem"]))
    rtnetlink.add_veth(f"node{number}", SWITCH, "eth0", fds[0])
    os.close(fds[0])
    return ours, theirs


def _launch(parent: int, requests: socket.socket, say: socket.socket) -> None:
    """Fork twice: only a child can be the first process of a PID namespace, and its parent waits for its end."""
    try:
        private.die_with_parent(parent)
        private.leave_for_node()
        pid = os.fork()
        if pid == 0:
            private.die_with_parent()
            private.set_up_node()
            own = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
            messages.send(say, {}, [own])
            os.close(own)
            say.close()
            Holder(requests, is_private=True).serve()
            os._exit(0)
        requests.close()
        say.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.waitpid(pid, 0)
    except private.Forbidden as error:
        messages.send(say, _error_message(error))
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(1)


def _error_message(error: private.Forbidden) -> messages.Message:
    return {"step": error.step, "errno": error.problem.errno or 0, "problem": error.problem.strerror or ""}
