"""Credentials from a kubeconfig or a pod's service account, read by the `kubernetes` package.

The package reads the files, selects the context, and handles certificates, tokens and passwords. This module adds three
things: a failed exec plugin raises an error, a cancelled load kills the plugin, and temporary files for inline
certificates are deleted after use. The package is imported late, because that takes longer than the rest of the
start-up.
"""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from yaml import YAMLError

from kubesim.cluster.remote.access import Access, AccessLoader
from kubesim.cluster.remote.exec_plugin import Credential, run_plugin
from kubesim.errors import UsageError

DEFAULT_KUBECONFIG = "~/.kube/config"
REMEDY = "compare it with one that `kubectl config view` prints"
UNUSABLE = f"cannot be used as a kubeconfig; {REMEDY}"
_ENTRIES = {"clusters": "cluster", "contexts": "context", "users": "user"}
_OBJECTS = frozenset({"exec", "auth-provider", "as-user-extra"})
_SWITCHES = frozenset({"insecure-skip-tls-verify", "disable-compression"})
_LISTS = frozenset({"extensions", "as-groups"})
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def find_access(kubeconfig: str = "", context: str = "", environment: Mapping[str, str] | None = None) -> AccessLoader:
    """The given kubeconfig, or $KUBECONFIG, or the one in the home directory, or a pod's service account."""
    environment = os.environ if environment is None else environment
    paths = kubeconfig or environment.get("KUBECONFIG", "")
    if paths:
        return KubeconfigAccess(paths, context)
    if Path(DEFAULT_KUBECONFIG).expanduser().exists():
        return KubeconfigAccess(DEFAULT_KUBECONFIG, context)
    if environment.get("KUBERNETES_SERVICE_HOST") and not context:
        return InClusterAccess(environment=environment)
    raise UsageError(f"no cluster is configured: there is no {DEFAULT_KUBECONFIG}, and KUBECONFIG is not set")


class KubeconfigAccess:
    """Loads from one or several files (as in $KUBECONFIG), with a context or the current context."""

    def __init__(self, paths: str, context: str = "") -> None:
        self._paths = paths
        self._context = context

    async def load(self) -> Access:
        from kubernetes.aio.client import Configuration
        from kubernetes.aio.config import ConfigException
        from kubernetes.aio.config.kube_config import KubeConfigLoader, KubeConfigMerger

        _check_there_is_one(self._paths)
        if problem := _misfit(self._paths):
            raise UsageError(f"{self._paths}: {problem}")
        try:
            merged = KubeConfigMerger(self._paths).config
            loader = KubeConfigLoader(merged, self._context or None, config_base_path=None)
            user = loader._user  # the package has no public API for it or its errors
            if user is None:
                raise UsageError(f"{self._paths}: the context names no user that is in it")
            credential = await self._from_plugin(user)
            configuration = type.__call__(Configuration)
            await loader.load_and_set(configuration)
        except UnicodeDecodeError:
            raise UsageError(f"{self._paths}: not UTF-8 text; a kubeconfig is YAML") from None
        except (AttributeError, KeyError, TypeError, IndexError, RecursionError):
            raise UsageError(f"{self._paths}: {UNUSABLE}") from None
        except ConfigException as error:
            raise UsageError(f"{self._paths}: {_words(error).rstrip('.')}; {REMEDY}") from None
        except (YAMLError, ValueError, OSError) as error:
            raise UsageError(f"{self._paths}: {_words(error)}") from None  # the cause could contain redacted text
        return _access(configuration, credential.expires_at)

    async def _from_plugin(self, user: Any) -> Credential:
        """The user entry with the exec plugin's credentials in place of the plugin."""
        if "exec" not in user:
            return Credential({})
        credential = await run_plugin(user["exec"].value, _directory(user.path))
        del user.value["exec"]
        user.value.update(credential.fields)
        return credential


class InClusterAccess:
    """Loads the service account of the pod in which kubesim runs."""

    def __init__(self, directory: Path = SERVICE_ACCOUNT, environment: Mapping[str, str] | None = None) -> None:
        self._directory = directory
        self._environment = os.environ if environment is None else environment

    async def load(self) -> Access:
        from kubernetes.aio.client import Configuration
        from kubernetes.aio.config import ConfigException
        from kubernetes.aio.config.incluster_config import InClusterConfigLoader

        configuration = type.__call__(Configuration)
        try:
            InClusterConfigLoader(
                token_filename=str(self._directory / "token"),
                cert_filename=str(self._directory / "ca.crt"),
                try_refresh_token=False,
                environ=self._environment,
            ).load_and_set(configuration)
        except (ConfigException, OSError) as error:
            raise UsageError(f"{self._directory}: {error}") from error
        return _access(configuration, None)


def _check_there_is_one(paths: str) -> None:
    if not any(Path(path).expanduser().is_file() for path in paths.split(os.pathsep)):
        raise UsageError(f"{paths}: there is no such file; name a kubeconfig that exists")


def _directory(path: str | None) -> Path:
    return Path(path or ".").expanduser().resolve().parent


def _words(error: Exception) -> str:
    """A one-line message without the kubeconfig entry that the package quotes, which may contain a token."""
    return re.sub(r"\{.*\}", "{...}", " ".join(str(error).split()))


# -- what is wrong with its form --------------------------------------------------------------------------------------


def _misfit(paths: str) -> str:
    """The path of the first field with a wrong type; empty if none. It contains no values."""
    for path in paths.split(os.pathsep):
        try:
            content = yaml.safe_load(Path(path).expanduser().read_text(encoding="utf-8"))
        except (OSError, ValueError, yaml.YAMLError, RecursionError):
            continue
        for problem in _misfits(content):
            return problem
    return ""


def _misfits(content: Any) -> Iterator[str]:
    if not isinstance(content, dict):
        yield "must be an object with clusters, contexts and users"
        return
    if not isinstance(content.get("current-context"), str | None):
        yield "current-context: must be a string"
    for name, inner in _ENTRIES.items():
        entries = content.get(name)  # another file may have them
        if entries is None:
            continue
        if not isinstance(entries, list):
            yield f"{name}: must be a list"
            continue
        for number, entry in enumerate(entries):
            where = f"{name}[{number}]"
            if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
                yield f"{where}: must be an object with a name and a {inner}"
            elif not isinstance(fields := entry.get(inner), dict | None):
                yield f"{where}.{inner}: must be an object"
            else:
                yield from _fields(f"{where}.{inner}", fields or {})


def _fields(where: str, fields: dict[Any, Any]) -> Iterator[str]:
    for name, value in fields.items():
        if value is None:
            continue
        if name in _OBJECTS:
            if not isinstance(value, dict):
                yield f"{where}.{name}: must be an object"
        elif name in _SWITCHES:
            if not isinstance(value, bool):
                yield f"{where}.{name}: must be true or false"
        elif name not in _LISTS and not isinstance(value, str):
            yield f"{where}.{name}: must be a string"


# -- what it gives --------------------------------------------------------------------------------------------------


def _access(configuration: Any, expires_at: int | None) -> Access:
    """Converts the package's configuration. No temporary file remains."""
    from kubernetes.aio.config import kube_config

    try:
        tls = _tls(configuration) if configuration.host.startswith("https") else None
    except (ssl.SSLError, OSError) as error:
        raise UsageError(f"{configuration.host}: the certificates cannot be used: {error}") from error
    finally:
        kube_config._cleanup_temp_files()
    return Access(
        configuration.host,
        tls,
        configuration.api_key.get("BearerToken", "").strip(),
        configuration.tls_server_name or "",
        configuration.proxy or "",
        expires_at,
        certificate=bool(configuration.cert_file),
    )


def _tls(configuration: Any) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=configuration.ssl_ca_cert, cadata=configuration.ca_cert_data)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # Go is less strict about self-made CA certificates
    if configuration.cert_file:
        context.load_cert_chain(configuration.cert_file, configuration.key_file)
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
