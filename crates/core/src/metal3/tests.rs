//! Where a Machine's BareMetalHost is.

use super::*;

const UID: &str = "6a1b3c5d-0000-4000-8000-000000000001";

#[test]
fn the_host_is_found_by_what_names_it_and_else_by_the_metal3_machine() {
    let known =
        |name: &str, uid: Option<&str>| (HostName::Known(name.to_owned()), uid.map(ToOwned::to_owned));
    let annotated = |uid: Option<&str>| {
        let name = HostName::OnMetal3Machine("m3m".to_owned());
        (name, uid.map(ToOwned::to_owned))
    };
    let legacy = format!("metal3://{UID}");
    for (provider_id, annotation, metal3_machine, expected) in [
        (None, None, None, None),
        (Some("aws:///zone/i-1"), None, None, None),
        (Some("aws:///zone/i-1"), Some("metal/host"), None, None),
        (
            Some("baremetalhost:///metal/host/u"),
            None,
            None,
            Some(known("host", Some("u"))),
        ),
        (None, Some("metal/host"), None, Some(known("host", None))),
        (
            Some("metal3://metal/host/m3m"),
            None,
            Some("m3m"),
            Some(known("host", None)),
        ),
        (
            Some(legacy.as_str()),
            None,
            Some("m3m"),
            Some(annotated(Some(UID))),
        ),
        (None, None, Some("m3m"), Some(annotated(None))),
        (Some("other://1"), None, Some("m3m"), Some(annotated(None))),
    ] {
        let signposts = Signposts {
            namespace: "metal",
            provider_id,
            annotation,
            metal3_machine,
        };
        let reference = host_reference(signposts).unwrap();
        let found = reference.map(|reference| {
            assert_eq!(reference.namespace, "metal");
            (reference.name, reference.uid)
        });
        assert_eq!(found, expected, "{signposts:?}");
    }
    for (provider_id, metal3_machine) in [
        (legacy.as_str(), None),
        ("metal3://", Some("m3m")),
        ("metal3://a/b/c/d", Some("m3m")),
        ("baremetalhost:///host", None),
    ] {
        let provider_id = Some(provider_id);
        let signposts = Signposts {
            provider_id,
            metal3_machine,
            ..Signposts::default()
        };
        let refused = host_reference(signposts).unwrap_err();
        assert_eq!(refused.reason, Reason::HostUnreadable, "{signposts:?}");
    }
}

#[test]
fn of_the_annotation_on_a_metal3_machine_the_name_counts() {
    for (annotation, expected) in [
        (Some("metal/host"), Ok("host")),
        (Some("elsewhere/host"), Ok("host")),
        (Some("host"), Ok("host")),
        (Some("metal/"), Err(Reason::HostUnreadable)),
        (Some(""), Err(Reason::HostUnreadable)),
        (Some("a/b/c"), Err(Reason::HostUnreadable)),
        (None, Err(Reason::HostNotFound)),
    ] {
        let named = annotated_host("m3m", annotation).map_err(|obstacle| obstacle.reason);
        assert_eq!(named, expected.map(ToOwned::to_owned), "{annotation:?}");
    }
}
