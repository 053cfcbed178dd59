"""Story files: NAME.json or NAME.json.gz, a JSON object with a story's manifests and actions."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

from kubesim.errors import InputError, not_json

# The corpora into which stories are grouped.
TRACES = "traces"  # recorded at the API server of one node
WORKLOADS = "workloads"  # recorded at the API server of a cluster with controllers and a scheduler
STORIES = (TRACES, WORKLOADS)
STORY_SUFFIXES = (".json", ".json.gz")
_INPUTS = ("manifests", "actions")


def story_name(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(".json")


def story_corpus(path: Path) -> str:
    """The corpus of a story. Only cluster stories contain nodes and the time of day."""
    story = _read(path)
    return WORKLOADS if isinstance(story, dict) and "wallClockStart" in story else TRACES


def is_story(path: Path) -> bool:
    """Whether the file contains a story; other JSON files are ignored."""
    return path.name.endswith(STORY_SUFFIXES) and _is_story(_read(path))


def read_story(path: Path) -> dict[str, Any]:
    story = _read(path)
    if not _is_story(story):
        raise InputError(str(path), f"not a story: a JSON object with {' and '.join(_INPUTS)} is expected")
    return {"name": story_name(path), **story}


def _is_story(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(value.get(name), list) for name in _INPUTS)


def _read(path: Path) -> Any:
    try:
        content = path.read_bytes()
        return json.loads(gzip.decompress(content) if path.suffix == ".gz" else content)
    except (json.JSONDecodeError, RecursionError) as error:
        raise not_json(str(path), error) from None
    except UnicodeDecodeError:
        raise InputError(str(path), "not UTF-8 text") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(str(path), f"damaged gzip file: {error}") from None
    except OSError as error:
        raise InputError(str(path), str(error.strerror)) from None
