"""The Job that a CronJob creates for a scheduled time, and the reference to it in the status.

Mirrors: pkg/controller/cronjob/utils.go getJobFromTemplate2; client-go tools/reference ref.go GetReference
"""

from __future__ import annotations

from datetime import UTC, datetime

from kubesim.api.meta import ObjectMeta, ObjectReference
from kubesim.api.timestamps import SECOND
from kubesim.api.workloads.batch import CronJob, Job
from kubesim.cluster.controllers.cronjob.cron_plan import job_name
from kubesim.cluster.controllers.owners import controller_reference
from kubesim.golang.cron import load_location

SCHEDULED_TIMESTAMP = "batch.kubernetes.io/cronjob-scheduled-timestamp"


def new_job(cron_job: CronJob, scheduled: int) -> Job:
    template = cron_job.spec.job_template
    moment = _rfc3339(scheduled, cron_job.spec.time_zone or "")
    metadata = ObjectMeta(
        name=job_name(cron_job, scheduled),
        namespace=cron_job.metadata.namespace,
        labels=template.metadata.labels,
        annotations={**template.metadata.annotations, SCHEDULED_TIMESTAMP: moment},
        owner_references=(controller_reference(cron_job),),
    )
    return Job(api_version="batch/v1", kind="Job", metadata=metadata, spec=template.spec)


def _rfc3339(micros: int, zone: str) -> str:
    local = datetime.fromtimestamp(micros // SECOND, UTC).astimezone(load_location(zone))
    text = local.isoformat(timespec="seconds")
    return text.removesuffix("+00:00") + "Z" if text.endswith("+00:00") else text


def job_reference(job: Job) -> ObjectReference:
    metadata = job.metadata
    return ObjectReference(
        kind="Job",
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        api_version="batch/v1",
        resource_version=metadata.resource_version,
    )
