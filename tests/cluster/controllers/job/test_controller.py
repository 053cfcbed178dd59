"""Jobs in a cluster: created pods, counts and conditions."""

from __future__ import annotations

from typing import Any

from kubesim.api.meta import ObjectMeta
from kubesim.api.pod import ContainerState, ContainerStateTerminated, ContainerStatus, Pod
from kubesim.api.timestamps import format_time
from kubesim.api.workloads.batch import Job
from kubesim.cluster.controllers.job.outcome.job_pods import TRACKING_FINALIZER
from kubesim.cluster.registry.deletion import DeleteOptions
from tests.support.cluster.controlled import ControlledCluster, controlled


def job(name: str = "work", template: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}], **(template or {})}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"template": {"spec": pod}, **spec},
    }


def run_on_node(cluster: ControlledCluster) -> None:
    """Every new pod gets a node and runs."""
    for pod in cluster.pods():
        if not pod.spec.node_name:
            bound = cluster.store.write(pod, pod.changed(spec=pod.spec.changed(node_name="node-1")))
            assert isinstance(bound, Pod)
            cluster.set_phase(bound, "Running", ready=True)


def end(cluster: ControlledCluster, pod: Pod, exit_code: int = 0) -> None:
    """Exit the only container of a pod."""
    moment = format_time(cluster.clock.now())
    state = ContainerState(terminated=ContainerStateTerminated(exit_code=exit_code, finished_at=moment))
    status = ContainerStatus(name=pod.spec.containers[0].name, state=state)
    current = cluster.get("Pod", pod.metadata.name)
    phase = "Failed" if exit_code else "Succeeded"
    cluster.set_phase(current, phase, ready=False, container_statuses=(status,))


def active(cluster: ControlledCluster) -> list[Pod]:
    return [
        pod
        for pod in cluster.pods()
        if pod.status.phase in ("Pending", "Running") and pod.metadata.deletion_timestamp is None
    ]


def conditions(cluster: ControlledCluster, name: str = "work") -> list[tuple[str, str, str]]:
    return [(c.type, c.status, c.reason) for c in cluster.get("Job", name).status.conditions]


def messages(cluster: ControlledCluster, reason: str) -> list[str]:
    return [event.message for event in cluster.events(reason)]


def test_pods_have_labels_owner_and_finalizer() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(job(parallelism=2, completions=3))
        await cluster.wait(0.5)
        made: Job = cluster.get("Job", "work")
        uid = made.metadata.uid
        pods = cluster.pods()
        assert len(pods) == 2
        for pod in pods:
            assert pod.metadata.name.startswith("work-")
            assert pod.metadata.labels == {
                "batch.kubernetes.io/controller-uid": uid,
                "controller-uid": uid,
                "batch.kubernetes.io/job-name": "work",
                "job-name": "work",
            }
            (owner,) = pod.metadata.owner_references
            assert (owner.api_version, owner.kind, owner.uid, owner.controller) == ("batch/v1", "Job", uid, True)
            assert pod.metadata.finalizers == (TRACKING_FINALIZER,)
        assert sorted(messages(cluster, "SuccessfulCreate")) == [f"Created pod: {pod.metadata.name}" for pod in pods]
        assert (made.status.active, made.status.ready, made.status.start_time) == (2, 0, "2000-01-01T00:00:00Z")

    controlled(story)


def test_pod_changes_are_batched_for_a_second() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(job())
        await cluster.wait(3)
        run_on_node(cluster)
        await cluster.wait(0.9)
        assert cluster.get("Job", "work").status.ready == 0
        await cluster.wait(0.2)
        assert cluster.get("Job", "work").status.ready == 1

    controlled(story)


def test_a_job_completes_when_enough_pods_have_succeeded() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(job(parallelism=2, completions=3))
        await cluster.wait(0.5)
        run_on_node(cluster)
        await cluster.wait(5)
        for pod in active(cluster):
            end(cluster, pod)
        await cluster.wait(1.1)
        assert len(active(cluster)) == 1
        assert cluster.get("Job", "work").status.succeeded == 2
        run_on_node(cluster)
        end(cluster, active(cluster)[0])
        await cluster.wait(2.1)
        status = cluster.get("Job", "work").status
        assert conditions(cluster) == [
            ("SuccessCriteriaMet", "True", "CompletionsReached"),
            ("Complete", "True", "CompletionsReached"),
        ]
        assert (status.succeeded, status.active, status.terminating) == (3, 0, 0)
        assert status.completion_time == status.conditions[1].last_transition_time
        assert messages(cluster, "Completed") == ["Job completed"]
        assert all(pod.metadata.finalizers == () for pod in cluster.pods())
        assert len(cluster.pods()) == 3

    controlled(story)


def test_a_terminated_pod_is_counted_in_three_writes() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(job())
        await cluster.wait(2)
        run_on_node(cluster)
        await cluster.wait(2)
        (pod,) = cluster.pods()
        writes: list[Any] = []
        cluster.store.watch("Job", lambda change: writes.append(change.object))
        cluster.store.watch("Pod", lambda change: writes.append(change.object))
        end(cluster, pod, exit_code=1)
        del writes[:]
        await cluster.wait(1.1)
        named, released, counted = writes
        assert (named.status.uncounted_terminated_pods.failed, named.status.failed) == ((pod.metadata.uid,), 0)
        assert released.metadata.finalizers == ()
        assert (counted.status.uncounted_terminated_pods.failed, counted.status.failed) == ((), 1)

    controlled(story)


def test_a_failed_pod_is_replaced_after_10_20_and_40_seconds() -> None:
    async def story(cluster: ControlledCluster) -> None:
        created: list[float] = []
        failed: list[float] = []
        cluster.store.watch("Pod", lambda e: created.append(cluster.elapsed()) if e.type == "ADDED" else None)
        cluster.create(job(backoffLimit=3))
        for wait in (10, 20, 40, 80):
            await cluster.wait(1)
            run_on_node(cluster)
            await cluster.wait(1)
            failed.append(cluster.elapsed())
            end(cluster, active(cluster)[0], exit_code=1)
            await cluster.wait(wait + 2)
        for moment, following, wait in zip(failed[:3], created[1:], (10, 20, 40), strict=True):
            assert wait <= following - int(moment) < wait + 0.1
        assert conditions(cluster) == [
            ("FailureTarget", "True", "BackoffLimitExceeded"),
            ("Failed", "True", "BackoffLimitExceeded"),
        ]
        assert cluster.get("Job", "work").status.failed == 4
        assert messages(cluster, "BackoffLimitExceeded") == ["Job has reached the specified backoff limit"]

    controlled(story)


def test_a_deleted_pod_counts_as_failed_and_is_replaced() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(job())
        await cluster.wait(1)
        run_on_node(cluster)
        await cluster.wait(4)
        (first,) = cluster.pods()
        cluster.delete("Pod", first.metadata.name)
        await cluster.wait(1.1)
        status = cluster.get("Job", "work").status
        assert (status.failed, status.terminating, status.active) == (1, 1, 0)
        await cluster.wait(8.6)
        assert not active(cluster)
        await cluster.wait(1)
        assert len(active(cluster)) == 1

    controlled(story)


def test_with_pod_replacement_policy_failed_a_pod_is_replaced_after_it_terminates() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(job(podReplacementPolicy="Failed"))
        await cluster.wait(1)
        run_on_node(cluster)
        (first,) = cluster.pods()
        cluster.delete("Pod", first.metadata.name)
        await cluster.wait(25)
        status = cluster.get("Job", "work").status
        assert (status.failed, status.terminating, status.active) == (0, 1, 0)
        end(cluster, first, exit_code=137)
        await cluster.wait(12)
        assert cluster.get("Job", "work").status.failed == 1
        assert len(active(cluster)) == 1

    controlled(story)


def test_container_restarts_fail_a_job_with_on_failure() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(job(backoffLimit=2, template={"restartPolicy": "OnFailure"}))
        await cluster.wait(1)
        run_on_node(cluster)
        for restarts, ends in ((1, False), (2, True)):
            (pod,) = cluster.pods()
            cluster.set_phase(
                pod, "Running", container_statuses=(ContainerStatus(name="main", restart_count=restarts),)
            )
            await cluster.wait(1.1)
            assert bool(cluster.events("SuccessfulDelete")) is ends
        assert conditions(cluster) == [("FailureTarget", "True", "BackoffLimitExceeded")]
        cluster.remove_ending()
        await cluster.wait(1.1)
        assert conditions(cluster)[1:] == [("Failed", "True", "BackoffLimitExceeded")]
        assert cluster.get("Job", "work").status.failed == 1

    controlled(story)


def test_active_deadline() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(job(activeDeadlineSeconds=15, parallelism=2))
        await cluster.wait(1)
        run_on_node(cluster)
        await cluster.wait(13.9)
        assert not conditions(cluster)
        await cluster.wait(0.2)
        assert conditions(cluster) == [("FailureTarget", "True", "DeadlineExceeded")]
        assert len(cluster.events("SuccessfulDelete")) == 2
        assert cluster.get("Job", "work").status.failed == 2
        assert not cluster.events("DeadlineExceeded")
        cluster.remove_ending()
        await cluster.wait(1.1)
        assert messages(cluster, "DeadlineExceeded") == ["Job was active longer than specified deadline"]

    controlled(story)


def test_suspend_and_resume() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(job(suspend=True, parallelism=2))
        await cluster.wait(2)
        assert not cluster.pods()
        assert cluster.get("Job", "work").status.start_time is None
        cluster.patch("Job", "work", {"spec": {"suspend": False}})
        await cluster.wait(0.1)
        assert cluster.get("Job", "work").status.start_time == "2000-01-01T00:00:02Z"
        assert conditions(cluster) == [("Suspended", "False", "JobResumed")]
        run_on_node(cluster)
        await cluster.wait(2)
        cluster.patch("Job", "work", {"spec": {"suspend": True}})
        await cluster.wait(0.1)
        status = cluster.get("Job", "work").status
        assert (status.active, status.terminating, status.failed, status.start_time) == (0, 2, 0, None)
        assert conditions(cluster) == [("Suspended", "True", "JobSuspended")]
        cluster.remove_ending()
        await cluster.wait(1.1)
        status = cluster.get("Job", "work").status
        assert (status.terminating, status.failed) == (0, 0)
        assert messages(cluster, "Suspended") == ["Job suspended"]
        assert [event.count for event in cluster.events("Suspended")] == [2]
        assert messages(cluster, "Resumed") == ["Job resumed"]

    controlled(story)


def test_indexed_pods_have_their_index() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(job(completionMode="Indexed", completions=3, parallelism=2))
        await cluster.wait(0.5)
        key = "batch.kubernetes.io/job-completion-index"
        pods = sorted(cluster.pods(), key=lambda pod: pod.metadata.name)
        for index, pod in enumerate(pods):
            assert pod.metadata.name.startswith(f"work-{index}-")
            assert pod.spec.hostname == f"work-{index}"
            assert pod.metadata.annotations[key] == pod.metadata.labels[key] == str(index)
            (variable,) = pod.spec.containers[0].env
            assert variable.name == "JOB_COMPLETION_INDEX"
            assert variable.value_from == {"fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.labels['{key}']"}}
        run_on_node(cluster)
        end(cluster, pods[1])
        await cluster.wait(1.1)
        assert cluster.get("Job", "work").status.completed_indexes == "1"
        assert {pod.spec.hostname for pod in active(cluster)} == {"work-0", "work-2"}

    controlled(story)


def test_a_success_policy_ends_the_job_early() -> None:
    async def story(cluster: ControlledCluster) -> None:
        policy = {"rules": [{"succeededIndexes": "0"}]}
        cluster.create(job(completionMode="Indexed", completions=2, parallelism=2, successPolicy=policy))
        await cluster.wait(0.5)
        run_on_node(cluster)
        end(cluster, next(pod for pod in cluster.pods() if pod.spec.hostname == "work-0"))
        await cluster.wait(1.1)
        assert conditions(cluster) == [("SuccessCriteriaMet", "True", "SuccessPolicy")]
        cluster.remove_ending()
        await cluster.wait(1.1)
        status = cluster.get("Job", "work").status
        assert [c.message for c in status.conditions] == ["Matched rules at index 0"] * 2
        assert (status.succeeded, status.failed, status.completed_indexes) == (1, 0, "0")

    controlled(story)


def test_a_failed_index_does_not_stop_the_others() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(job(completionMode="Indexed", completions=2, parallelism=2, backoffLimitPerIndex=0))
        await cluster.wait(0.5)
        assert cluster.get("Job", "work").status.failed_indexes == ""
        run_on_node(cluster)
        zero, one = sorted(cluster.pods(), key=lambda pod: pod.spec.hostname)
        end(cluster, zero, exit_code=1)
        await cluster.wait(2)
        assert cluster.get("Job", "work").status.failed_indexes == "0"
        assert not conditions(cluster)
        end(cluster, one)
        await cluster.wait(2)
        status = cluster.get("Job", "work").status
        assert (status.completed_indexes, status.failed_indexes) == ("1", "0")
        assert messages(cluster, "FailedIndexes") == ["Job has failed indexes"]

    controlled(story)


def test_a_pod_failure_policy_fails_the_job_immediately() -> None:
    async def story(cluster: ControlledCluster) -> None:
        rule = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}
        cluster.create(job(parallelism=2, completions=2, podFailurePolicy={"rules": [rule]}))
        await cluster.wait(0.5)
        run_on_node(cluster)
        first = cluster.pods()[0]
        end(cluster, first, exit_code=42)
        await cluster.wait(1.1)
        (condition,) = cluster.get("Job", "work").status.conditions
        assert condition.message == (
            f"Container main for pod default/{first.metadata.name} failed with exit code 42 "
            "matching FailJob rule at index 0"
        )
        assert len(cluster.events("SuccessfulDelete")) == 1

    controlled(story)


def test_an_ignored_failure_is_not_counted_but_adds_back_off() -> None:
    async def story(cluster: ControlledCluster) -> None:
        rule = {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [7]}}
        cluster.create(job(backoffLimit=0, podFailurePolicy={"rules": [rule]}))
        await cluster.wait(0.5)
        run_on_node(cluster)
        end(cluster, cluster.pods()[0], exit_code=7)
        await cluster.wait(9)
        assert cluster.get("Job", "work").status.failed == 0
        assert not active(cluster)
        await cluster.wait(1)
        assert len(active(cluster)) == 1
        assert not conditions(cluster)

    controlled(story)


def test_rejected_pods_are_reported_and_retried() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(job(parallelism=4, completions=4, template={"priorityClassName": "missing"}))
        await cluster.wait(0.5)
        assert not cluster.pods()
        assert cluster.get("Job", "work").status.active == 0
        (event,) = cluster.events("FailedCreate")
        assert event.message.startswith("Error creating: ")
        assert "no PriorityClass" in event.message
        await cluster.wait(1)
        assert len(cluster.events("FailedCreate")) == 2
        await cluster.wait(1)
        assert len(cluster.events("FailedCreate")) == 2
        await cluster.wait(1)
        assert len(cluster.events("FailedCreate")) == 3

    controlled(story)


def test_a_deleted_job_releases_its_pods() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(job(parallelism=2, completions=2))
        await cluster.wait(0.5)
        cluster.delete("Job", "work", DeleteOptions(propagation_policy="Background"))
        await cluster.wait(0.1)
        assert all(pod.metadata.finalizers == () for pod in cluster.pods())

    controlled(story)


def test_a_job_being_deleted_creates_no_pods() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(job(parallelism=1, completions=2))
        await cluster.wait(0.5)
        cluster.delete("Job", "work", DeleteOptions(propagation_policy="Foreground"))
        await cluster.wait(0.1)
        (pod,) = cluster.pods()
        assert pod.metadata.finalizers == ()
        cluster.delete("Pod", pod.metadata.name)
        await cluster.wait(20)
        assert not cluster.pods()

    controlled(story, only="Job")


def test_a_manual_selector_adopts_and_releases() -> None:
    async def story(cluster: ControlledCluster) -> None:
        lone = Pod(
            kind="Pod",
            api_version="v1",
            metadata=ObjectMeta(name="lone", namespace="default", labels={"app": "x"}),
            spec=Pod.from_json({"spec": {"containers": [{"name": "main", "image": "busybox"}]}}).spec,
        )
        cluster.store.create(lone)
        manifest = job(manualSelector=True, selector={"matchLabels": {"app": "x"}})
        manifest["spec"]["template"]["metadata"] = {"labels": {"app": "x"}}
        cluster.create(manifest)
        await cluster.wait(0.5)
        (pod,) = cluster.pods()
        assert pod.metadata.owner_references[0].name == "work"
        assert pod.metadata.finalizers == (TRACKING_FINALIZER,)
        cluster.patch("Pod", "lone", {"metadata": {"labels": {"app": "y"}}})
        await cluster.wait(1.1)
        released = cluster.get("Pod", "lone")
        assert (released.metadata.owner_references, released.metadata.finalizers) == ((), ())
        assert len(cluster.pods()) == 2

    controlled(story)


def test_a_job_managed_by_another_controller_is_ignored() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(job(managedBy="example.com/other"))
        await cluster.wait(5)
        assert not cluster.pods()

    controlled(story)


def test_ttl_deletes_a_finished_job_with_its_pods() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(job(ttlSecondsAfterFinished=12))
        await cluster.wait(0.5)
        run_on_node(cluster)
        end(cluster, cluster.pods()[0])
        await cluster.wait(2)
        finished = cluster.elapsed()
        await cluster.wait(10)
        assert cluster.get("Job", "work").metadata.deletion_timestamp is None
        await cluster.wait(2)
        metadata = cluster.get("Job", "work").metadata
        assert metadata.deletion_timestamp is not None
        assert metadata.finalizers == ("foregroundDeletion",)
        assert cluster.elapsed() - finished < 13

    controlled(story, only="Job")
