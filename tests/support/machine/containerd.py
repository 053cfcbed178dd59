"""A real containerd for tests, with directories, a socket, a network and images of its own.

It runs in network and mount namespaces of its own, so nothing of the machine is touched but cgroups with a name of its
own, and everything ends with it. Its images are made here, from Debian's static busybox. Programs that must reach its
pods over the network are started with `Containerd.command`.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import signal
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.processes import kubesim

BIN_DIR = "/usr/lib/cni"
BUSYBOX = "/bin/busybox"
IMAGE = "docker.io/library/busybox:1.36"  # what a manifest calls busybox:1.36
SERVER = "docker.io/library/nginx:1.27"  # listens on port 80, as nginx does
PAUSE = "localhost/pause:1"
NEEDED = ("containerd", "runc", "ctr", "unshare", "nsenter", "ip")
PACKAGES = "containerd, runc, busybox-static, containernetworking-plugins, iproute2, util-linux"
TIMEOUT_S = 60.0

_CONFIG = """
version = 2
root = "{directory}/root"
state = "{directory}/state"
[grpc]
  address = "{directory}/c.sock"
[ttrpc]
  address = "{directory}/t.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  stream_server_address = "127.0.0.1"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "{snapshotter}"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{bin_dir}"
    conf_dir = "{directory}/net.d"
"""


class Containerd(NamedTuple):
    directory: Path
    process: subprocess.Popen[bytes]
    programs: str = ""  # the directory of its programs, before those of the PATH

    @property
    def socket(self) -> str:
        return f"{self.directory}/c.sock"

    @property
    def endpoint(self) -> str:
        return f"unix://{self.socket}"

    def command(self, *words: str) -> list[str]:
        """A command line within its namespaces."""
        return ["nsenter", f"--target={self.process.pid}", "--net", "--mount", "--wd=.", *words]

    def kubesim(self, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run kubesim there, with this runtime."""
        return subprocess.run(
            self.command(*kubesim(*words)),
            capture_output=True,
            text=True,
            check=False,
            env=self.environment(),
            **options,
        )

    def environment(self) -> dict[str, str]:
        return {**os.environ, "KUBESIM_CRI_ENDPOINT": self.endpoint, "XDG_STATE_HOME": f"{self.directory}/xdg"}

    def ctr(self, *words: str) -> str:
        line = ["ctr", "--address", self.socket, "--namespace", "k8s.io", *words]
        return subprocess.run(line, capture_output=True, text=True, check=True, env=_environment(self.programs)).stdout

    def containers(self) -> list[str]:
        return self.ctr("containers", "ls", "--quiet").split()


def missing() -> str:
    """Why no containerd can run here; empty if one can."""
    if os.geteuid() != 0:
        return "a real containerd needs root"
    absent = [name for name in NEEDED if shutil.which(name) is None]
    absent += [path for path in (BUSYBOX, f"{BIN_DIR}/bridge", f"{BIN_DIR}/host-local") if not os.path.exists(path)]
    if absent:
        return f"{', '.join(absent)} missing: apt-get install {PACKAGES}"
    tried = subprocess.run(["unshare", "--net", "--mount", "true"], capture_output=True, text=True, check=False)
    return f"no namespaces can be made: {tried.stderr.strip()}" if tried.returncode else ""


def require_containerd() -> None:
    """Skip the test where the machine forbids it; fail in continuous integration."""
    problem = missing()
    if problem:
        pytest.fail(problem) if os.environ.get("CI") else pytest.skip(problem)


def _environment(programs: str) -> dict[str, str]:
    return {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}" if programs else os.environ["PATH"]}


@contextmanager
def running_containerd(programs: str = "") -> Iterator[Containerd]:
    require_containerd()
    directory = Path(tempfile.mkdtemp(prefix="ks-ctd-"))  # short: the path of a socket has at most 107 bytes
    try:
        _write_configuration(directory)
        with _started(directory, programs) as containerd:
            _import_images(containerd)
            yield containerd
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _write_configuration(directory: Path) -> None:
    network = {
        "type": "bridge",
        "bridge": "ks0",
        "isGateway": True,
        "hairpinMode": True,
        "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.87.0.0/16"}]], "dataDir": f"{directory}/ipam"},
    }
    (directory / "net.d").mkdir()
    conflist = {"cniVersion": "1.0.0", "name": "test", "plugins": [network]}
    (directory / "net.d" / "10-test.conflist").write_text(json.dumps(conflist))
    text = _CONFIG.format(directory=directory, pause=PAUSE, snapshotter=_snapshotter(directory), bin_dir=BIN_DIR)
    (directory / "config.toml").write_text(text)


def _snapshotter(directory: Path) -> str:
    """`native` copies whole images; it is for file systems on which no overlay can be mounted."""
    for name in ("lower", "upper", "work", "merged"):
        (directory / "try" / name).mkdir(parents=True)
    layers = ",".join(f"{name}dir={directory}/try/{name}" for name in ("lower", "upper", "work"))
    mount = ["mount", "-t", "overlay", "overlay", "-o", layers, f"{directory}/try/merged"]
    tried = subprocess.run(["unshare", "--mount", *mount], capture_output=True, check=False)
    shutil.rmtree(directory / "try", ignore_errors=True)
    return "native" if tried.returncode else "overlayfs"


@contextmanager
def _started(directory: Path, programs: str) -> Iterator[Containerd]:
    script = f"ip link set lo up && exec containerd --config {directory}/config.toml"
    log = (directory / "log").open("wb")
    line = ["unshare", "--net", "--mount", "--propagation=private", "sh", "-c", script]
    environment = _environment(programs)
    with log, subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment) as process:
        containerd = Containerd(directory, process, programs)
        try:
            _wait_until_ready(containerd)
            yield containerd
        finally:
            _stop(containerd)


def _wait_until_ready(containerd: Containerd) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        line, environment = ["ctr", "--address", containerd.socket, "version"], _environment(containerd.programs)
        if not subprocess.run(line, capture_output=True, check=False, env=environment).returncode:
            return
        log = (containerd.directory / "log").read_text(errors="replace")[-2000:]
        assert containerd.process.poll() is None, f"containerd has ended: {log}"
        assert time.monotonic() < deadline, f"containerd does not answer: {log}"
        time.sleep(0.05)


def _stop(containerd: Containerd) -> None:
    """End it and what it runs. Shims outlive containerd, each with its address in the command line."""
    containerd.process.terminate()
    containerd.process.wait()
    for _ in range(1000):
        left = _processes_of(containerd)
        if not left:
            return
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.01)


def _processes_of(containerd: Containerd) -> list[int]:
    """The shims, by their command line, and what they run, by its cgroup."""
    marks = (f"{containerd.directory}/".encode(),)
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes()
        except OSError:
            continue
        if b"/containerd-shim" in words.split(b"\0")[0] and any(mark in words for mark in marks):
            found += [int(path.name), *_children(int(path.name))]
    return found


def _children(pid: int) -> list[int]:
    try:
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _import_images(containerd: Containerd) -> None:
    pause = {"Entrypoint": ["/bin/sleep", "1000000"]}
    server = {"Entrypoint": ["/bin/httpd", "-f", "-p", "80", "-h", "/etc"], "StopSignal": "SIGQUIT"}
    plain = {"Cmd": ["/bin/sh"], "Env": ["PATH=/bin"]}
    archive = containerd.directory / "images.tar"
    _write_images(archive, {PAUSE: pause, IMAGE: plain, SERVER: server})
    containerd.ctr("images", "import", str(archive))
    deadline = time.monotonic() + TIMEOUT_S
    while containerd.ctr("images", "ls", "--quiet").count("sha256:") < 3:  # the CRI plugin notices them a moment later
        assert time.monotonic() < deadline, "containerd does not take the images"
        time.sleep(0.05)


def _write_images(path: Path, configs: dict[str, dict[str, Any]]) -> None:
    """Images in docker's format that differ only in what they run."""
    layer = _layer()
    layer_name = hashlib.sha256(layer).hexdigest()
    manifest = []
    with tarfile.open(path, "w") as archive:
        _add(archive, f"{layer_name}/layer.tar", layer)
        for name, config in configs.items():
            roots = {"type": "layers", "diff_ids": [f"sha256:{layer_name}"]}
            content = json.dumps({"architecture": _architecture(), "os": "linux", "config": config, "rootfs": roots})
            digest = hashlib.sha256(content.encode()).hexdigest()
            _add(archive, f"{digest}.json", content.encode())
            manifest.append({"Config": f"{digest}.json", "RepoTags": [name], "Layers": [f"{layer_name}/layer.tar"]})
        _add(archive, "manifest.json", json.dumps(manifest).encode())


def _layer() -> bytes:
    """busybox with a link for each of its programs."""
    programs = subprocess.run([BUSYBOX, "--list"], capture_output=True, text=True, check=True).stdout.split()
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as layer:
        for name in ("bin", "dev", "etc", "proc", "sys", "tmp"):
            directory = tarfile.TarInfo(name)
            directory.type, directory.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
            layer.addfile(directory)
        _add(layer, "bin/busybox", Path(BUSYBOX).read_bytes(), 0o755)
        _add(layer, "etc/passwd", b"root:x:0:0::/:/bin/sh\nuser:x:1000:1000::/:/bin/sh\n")
        _add(layer, "etc/index.html", b"hello\n")
        for name in programs:
            link = tarfile.TarInfo(f"bin/{name}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            if name != "busybox":
                layer.addfile(link)
    return written.getvalue()


def _add(archive: tarfile.TarFile, name: str, content: bytes, mode: int = 0o644) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(content), mode
    archive.addfile(info, io.BytesIO(content))


def _architecture() -> str:
    machine = os.uname().machine
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)
