use axum::body::Bytes;
use http::Request;

use super::calls::naming;
use super::{Fault, What, When};

#[test]
fn the_text_of_a_fault_is_read_as_it_was_written() {
    for what in What::ALL {
        for when in When::ALL {
            let call = "PoweringOff/bmc-ForceOff#1".to_owned();
            let fault = Fault { what, when, call };
            assert_eq!(fault.to_string().parse::<Fault>().unwrap(), fault);
        }
    }
    assert!("kill-whenever:Pending/get-nodes#1".parse::<Fault>().is_err());
}

#[test]
fn calls_of_a_remediation_are_named_and_no_others() {
    let remediation = "/apis/baremetal-remediator.io/v1alpha1/namespaces/one/powercycleremediations";
    for (method, path, body, wanted) in [
        ("GET", "/api/v1/nodes?limit=500", "", None),
        ("GET", "/api/v1/nodes/worker", "", Some("get-nodes")),
        (
            "GET",
            "/api/v1/namespaces/medik8s-leases",
            "",
            Some("get-namespaces"),
        ),
        (
            "GET",
            "/api/v1/namespaces/one/secrets/bmc",
            "",
            Some("get-secrets"),
        ),
        ("GET", "/version", "", None),
        ("PATCH", "/api/v1/nodes/worker", "{}", Some("patch-nodes")),
        ("POST", "/apis/events.k8s.io/v1/namespaces/one/events", "{}", None),
        ("POST", remediation, "{}", Some("post-powercycleremediations")),
        (
            "PUT",
            &format!("{remediation}/worker-1/status"),
            "{\"status\": {\"phase\": \"Fencing\"}}",
            Some("journal-Fencing"),
        ),
    ] {
        let request = Request::builder().method(method).uri(path);
        let request = request.body(Bytes::from(body.to_owned())).unwrap();
        assert_eq!(naming(&request).as_deref(), wanted, "{method} {path}");
    }
}
