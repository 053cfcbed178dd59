"""The command line of a container: the pod's command and args override the image's; variables are expanded.

Images are not downloaded: the entry points of well-known images are listed here; any other image contains a program
with the image's name.

Mirrors: the merging of containerd's CRI (WithProcessArgs) and pkg/kubelet/container/helpers.go
ExpandContainerCommandAndArgs.
"""

from __future__ import annotations

from collections.abc import Mapping

from kubesim.api.pod import Container
from kubesim.runtime.expansion import expand
from kubesim.values import value_object


@value_object
class ImageProgram:
    """ENTRYPOINT and CMD of an image."""

    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()


# Without a terminal, a shell or interpreter reads the end of its input and exits.
_SHELL = ImageProgram(command=("sh",))
IMAGE_PROGRAMS = {
    "agnhost": ImageProgram(("/agnhost",), ("pause",)),
    "httpd": ImageProgram(command=("httpd-foreground",)),
    "mariadb": ImageProgram(command=("mysqld",)),
    "memcached": ImageProgram(command=("memcached",)),
    "mongo": ImageProgram(command=("mongod",)),
    "mysql": ImageProgram(command=("mysqld",)),
    "nonewprivs": ImageProgram(("/nnp",)),
    "nginx": ImageProgram(command=("nginx", "-g", "daemon off;")),
    "pause": ImageProgram(("/pause",)),
    "postgres": ImageProgram(command=("postgres",)),
    "redis": ImageProgram(command=("redis-server",)),
    "valkey": ImageProgram(command=("redis-server",)),
    **dict.fromkeys(
        ("almalinux", "alpine", "bash", "busybox", "centos", "debian", "fedora", "golang", "node", "perl", "python",
         "ruby", "ubuntu"),
        _SHELL,
    ),
}  # fmt: skip


def image_program(image: str) -> ImageProgram:
    name = image.partition("@")[0].rpartition("/")[2].partition(":")[0]
    return IMAGE_PROGRAMS.get(name) or ImageProgram((name,))


def command_line(container: Container, environment: Mapping[str, str]) -> tuple[str, ...]:
    """A command replaces the image's entry point and arguments; args alone replace only the arguments."""
    if container.command:
        words = (*container.command, *container.args)
    else:
        program = image_program(container.image)
        words = (*program.entrypoint, *(container.args or program.command))
    return tuple([expand(word, environment) for word in words]) if "$" in "".join(words) else words
