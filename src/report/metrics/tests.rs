use remediator_core::readiness::schedule::HostKind;

use super::*;

#[test]
fn names_units_and_labels_are_as_prometheus_expects() {
    let metrics = Metrics::default();
    let key = HostKey {
        kind: HostKind::Endpoint,
        namespace: "machines".to_owned(),
        name: "worker-7".to_owned(),
    };
    metrics.ready.get_or_create(&host_labels(&key)).set(1);
    metrics.checks.get_or_create(&[("result", "BmcReady")]).inc();
    metrics.check_duration.observe(0.3);
    metrics.collect(("remediations", "Remediations"), Number::Gauge, "phase", || {
        BTreeMap::from([("Pending", 2)])
    });
    metrics.collect(("bmc_requests", "Requests"), Number::Counter, "outcome", || {
        BTreeMap::from([("Answered", 3)])
    });

    let text = metrics.text().unwrap();

    for line in [
        "# TYPE baremetal_remediator_bmc_ready gauge",
        "baremetal_remediator_bmc_ready{namespace=\"machines\",host=\"BMCEndpoint/worker-7\"} 1",
        "baremetal_remediator_bmc_checks_total{result=\"BmcReady\"} 1",
        "baremetal_remediator_bmc_check_duration_seconds_bucket{le=\"0.5\"} 1",
        "baremetal_remediator_remediations{phase=\"Pending\"} 2",
        "# TYPE baremetal_remediator_bmc_requests counter",
        "baremetal_remediator_bmc_requests_total{outcome=\"Answered\"} 3",
    ] {
        assert!(text.lines().any(|one| one == line), "{line} is not in\n{text}");
    }
    assert!(text.ends_with("# EOF\n"));
    metrics.ready.remove(&host_labels(&key));
    assert!(!metrics.text().unwrap().contains("worker-7"));
}
