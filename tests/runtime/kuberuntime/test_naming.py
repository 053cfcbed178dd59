"""Names, paths, labels and annotations."""

from __future__ import annotations

from kubesim.api.pod import Container, Pod, ResourceRequirements
from kubesim.api.pods.pod_kinds import pod_full_name
from kubesim.golang.json import dumps_in_order
from kubesim.runtime.kuberuntime import labels, naming
from kubesim.runtime.kuberuntime.hash_text import quantity_text, resources_text

POD = Pod.from_json(
    {
        "metadata": {"name": "web-1", "namespace": "prod", "uid": "u1", "labels": {"app": "web"}},
        "spec": {
            "terminationGracePeriodSeconds": 30,
            "containers": [
                {
                    "name": "web",
                    "image": "nginx:1.27",
                    "ports": [{"containerPort": 80, "name": "http", "protocol": "TCP"}],
                    "lifecycle": {"preStop": {"httpGet": {"path": "/stop?a&b", "port": "http"}}},
                }
            ],
            "initContainers": [{"name": "setup"}],
            "ephemeralContainers": [{"name": "debug"}],
        },
    }
)
WEB = POD.spec.containers[0]


def test_a_pod_in_messages_and_paths() -> None:
    assert pod_full_name(POD) == "web-1_prod"
    assert naming.format_pod(POD) == "web-1_prod(u1)"
    assert naming.container_logs_directory(POD, "web") == "/var/log/pods/prod_web-1_u1/web"
    assert naming.container_log_path("web", 3) == "web/3.log"


def test_the_legacy_link_is_truncated_to_a_file_name() -> None:
    assert naming.legacy_log_symlink(POD, "web", "abc") == "/var/log/containers/web-1_prod_web-abc.log"
    long = naming.legacy_log_symlink(POD, "web", "f" * 300)
    assert len(long.removeprefix("/var/log/containers/")) == 255
    assert long.endswith("f.log")


def test_events_refer_to_the_container() -> None:
    assert naming.container_field_path(POD, "web") == "spec.containers{web}"
    assert naming.container_field_path(POD, "setup") == "spec.initContainers{setup}"
    assert naming.container_field_path(POD, "debug") == "spec.ephemeralContainers{debug}"
    assert naming.container_field_path(POD, "pause") == "implicitly required container pause"


def test_a_new_image_or_new_resources_start_a_new_back_off() -> None:
    key = naming.backoff_key(POD, WEB)
    assert naming.backoff_key(POD, WEB.changed(args=("-v",))) == key
    assert naming.backoff_key(POD, WEB.changed(image="nginx:1.28")) != key
    larger = Container.from_json({**WEB.to_json(), "resources": {"limits": {"cpu": "1"}}})
    assert naming.backoff_key(POD, larger) != key


def test_quantities_are_printed_in_parsed_form() -> None:
    assert quantity_text("100m") == "{{100 -3} {<nil>} 100m DecimalSI}"
    assert quantity_text("1Gi") == "{{1073741824 0} {<nil>} 1Gi BinarySI}"
    assert quantity_text("64Mi") == "{{67108864 0} {<nil>}  BinarySI}"  # a multiple of 8: the notation is not kept
    assert quantity_text("0.5") == "{{5 -1} {<nil>}  DecimalSI}"
    assert quantity_text("1000") == "{{1000 0} {<nil>}  DecimalSI}"
    assert quantity_text(0) == "{{0 0} {<nil>} 0 DecimalSI}"


def test_labels() -> None:
    assert labels.new_pod_labels(POD)["app"] == "web"
    assert "app" not in labels.new_container_labels(WEB, POD)


def test_annotations_are_sufficient_to_stop_an_unknown_container() -> None:
    annotations = labels.new_container_annotations(WEB, POD, 2)
    assert annotations["io.kubernetes.container.preStopHandler"] == (
        '{"httpGet":{"path":"/stop?a\\u0026b","port":"http"}}'
    )
    assert annotations["io.kubernetes.container.ports"] == '[{"name":"http","containerPort":80,"protocol":"TCP"}]'
    pod, container = labels.restore_specs(labels.new_container_labels(WEB, POD), annotations)
    assert naming.format_pod(pod) == naming.format_pod(POD)
    assert pod.spec.termination_grace_period_seconds == 30
    assert container.name == "web"
    assert container.lifecycle == WEB.lifecycle
    assert container.ports == WEB.ports


def test_unreadable_annotations_count_as_absent() -> None:
    annotations = {labels.POD_DELETION_GRACE_PERIOD: "zz", labels.POD_TERMINATION_GRACE_PERIOD: "4"}
    pod, _ = labels.restore_specs({}, annotations)
    assert (pod.metadata.deletion_grace_period_seconds, pod.spec.termination_grace_period_seconds) == (None, 4)


def test_go_json_is_compact_and_escapes_html() -> None:
    text = dumps_in_order({"b": "<&>\u2028é", "a": [1, True, None]})
    assert text == '{"b":"\\u003c\\u0026\\u003e\\u2028é","a":[1,true,null]}'


def test_a_hook_that_opens_a_port_is_written_and_an_invalid_one_is_ignored() -> None:
    hook = {"preStop": {"tcpSocket": {"port": 80, "host": "h"}}}
    container = Container.from_json({"name": "web", "lifecycle": hook})
    annotations = labels.new_container_annotations(container, POD, 0)
    assert annotations[labels.CONTAINER_PRE_STOP_HANDLER] == '{"tcpSocket":{"port":80,"host":"h"}}'
    broken = {labels.CONTAINER_PRE_STOP_HANDLER: "{", labels.CONTAINER_PORTS: "x"}
    _, restored = labels.restore_specs({labels.CONTAINER_NAME: "web"}, broken)
    assert (restored.name, restored.lifecycle, restored.ports) == ("web", None, ())


def test_a_very_large_quantity_has_no_text_of_its_own() -> None:
    assert quantity_text("123456789012345678901") == "{{0 0} {123456789012345678901}  DecimalSI}"


def test_the_text_of_resources_names_the_claims() -> None:
    """core/v1 generated.pb.go ResourceRequirements.String, ResourceClaim.String."""
    claims = ResourceRequirements.from_json({"claims": [{"name": "gpu", "request": "one"}, {"name": "nic"}]})
    listed = "ResourceClaim{Name:gpu,Request:one,},ResourceClaim{Name:nic,Request:,},"
    empty = "Limits:ResourceList{},Requests:ResourceList{}"
    assert resources_text(claims) == f"&ResourceRequirements{{{empty},Claims:[]ResourceClaim{{{listed}}},}}"
