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
        let signposts = BareMetalHostHints {
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
        let signposts = BareMetalHostHints {
            provider_id,
            metal3_machine,
            ..BareMetalHostHints::default()
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

fn consumer() -> Consumer {
    Consumer {
        kind: "Machine".to_owned(),
        namespace: "metal".to_owned(),
        name: "worker-0".to_owned(),
    }
}

fn provisioned() -> BareMetalHost {
    BareMetalHost {
        namespace: "metal".to_owned(),
        name: "host-0".to_owned(),
        uid: "uid-0".to_owned(),
        online: true,
        has_bmc: true,
        consumer: Some(consumer()),
        state: "provisioned".to_owned(),
        ..BareMetalHost::default()
    }
}

type Change<'a> = &'a dyn Fn(&mut BareMetalHost);

/// The refusal list: contracts of metal3 that stop a power-off, each by a reason of its own.
#[test]
fn each_state_in_which_a_host_is_not_fenced_has_its_reason() {
    let ours = annotation_of("pcr-uid");
    let of_another = annotation_of("another-uid");
    let reference = HostReference {
        namespace: "metal".to_owned(),
        name: HostName::Known("host-0".to_owned()),
        uid: Some("uid-0".to_owned()),
    };
    let cases: [(Change<'_>, Option<(Reason, &str)>); 17] = [
        (&|_| {}, None),
        (&|host| host.state = "externally provisioned".to_owned(), None),
        (&|host| host.reboot_annotations = vec![ours.clone()], None),
        (
            &|host| (host.detached, host.detached_for) = (true, Some(ours.clone())),
            None,
        ),
        (
            &|host| host.uid = "uid-1".to_owned(),
            Some((Reason::HostConsumerMismatch, "uid-1")),
        ),
        (
            &|host| host.consumer = None,
            Some((Reason::HostConsumerMismatch, "worker-0")),
        ),
        (
            &|host| host.reboot_annotations = vec![ours.clone(), of_another.clone()],
            Some((Reason::HostHeldBySomeoneElse, "another PowerCycleRemediation")),
        ),
        (
            &|host| host.reboot_annotations = vec!["reboot.metal3.io".to_owned()],
            Some((Reason::HostHeldBySomeoneElse, "carries reboot.metal3.io")),
        ),
        (
            &|host| host.reboot_annotations = vec!["reboot.metal3.io/metal3-remediation-7".to_owned()],
            Some((Reason::HostHeldBySomeoneElse, "a Metal3Remediation")),
        ),
        (
            &|host| host.reboot_annotations = vec!["reboot.metal3.io/capbm-requested-power-off".to_owned()],
            Some((Reason::HostHeldBySomeoneElse, "cluster-api-provider-baremetal")),
        ),
        (
            &|host| host.given_up = Some("capm3.metal3.io/unhealthy".to_owned()),
            Some((Reason::AnotherRemediatorActive, "has given it up")),
        ),
        (
            &|host| host.deleting = true,
            Some((Reason::HostDeleting, "is being deleted")),
        ),
        (
            &|host| host.detached = true,
            Some((Reason::HostDetached, "detached")),
        ),
        (
            &|host| host.online = false,
            Some((Reason::HostOffline, "spec.online: false")),
        ),
        (
            // It is reset then.
            &|host| host.power_off_disabled = true,
            None,
        ),
        (
            &|host| host.operational_status = "servicing".to_owned(),
            Some((Reason::HostServicing, "serviced")),
        ),
        (
            &|host| host.state = "deprovisioning".to_owned(),
            Some((Reason::HostNotProvisioned, "deprovisioning")),
        ),
    ];
    for (change, expected) in cases {
        let mut host = provisioned();
        change(&mut host);
        let found = may_be_fenced(&host, &reference, &consumer(), &ours).err();
        let reason = found.as_ref().map(|obstacle| obstacle.reason);
        assert_eq!(reason, expected.map(|(reason, _)| reason), "{host:?}");
        if let (Some(found), Some((_, says))) = (found, expected) {
            assert!(
                found.detail.contains("host-0") && found.detail.contains(says),
                "{found}"
            );
        }
    }
    for (change, expected) in [
        (
            &(|host: &mut BareMetalHost| host.has_bmc = false) as Change<'_>,
            "no spec.bmc.address",
        ),
        (
            &|host: &mut BareMetalHost| host.state = "unmanaged".to_owned(),
            "unmanaged",
        ),
    ] {
        let mut host = provisioned();
        change(&mut host);
        let found = may_be_fenced(&host, &reference, &consumer(), &ours).unwrap_err();
        assert_eq!(found.reason, Reason::HostUnmanaged);
        assert!(found.detail.contains(expected), "{found}");
    }
}

/// Source: baremetal-operator `apis/metal3.io/v1alpha1/baremetalhost_types.go`, `ProvisioningState`.
#[test]
fn of_all_provisioning_states_two_let_a_host_be_powered() {
    let reference = HostReference {
        namespace: "metal".to_owned(),
        name: HostName::Known("host-0".to_owned()),
        uid: None,
    };
    for (state, expected) in [
        ("provisioned", None),
        ("externally provisioned", None),
        ("", Some(Reason::HostNotProvisioned)),
        ("unmanaged", Some(Reason::HostUnmanaged)),
        ("registering", Some(Reason::HostNotProvisioned)),
        ("match profile", Some(Reason::HostNotProvisioned)),
        ("preparing", Some(Reason::HostNotProvisioned)),
        ("ready", Some(Reason::HostNotProvisioned)),
        ("available", Some(Reason::HostNotProvisioned)),
        ("provisioning", Some(Reason::HostNotProvisioned)),
        ("deprovisioning", Some(Reason::HostNotProvisioned)),
        ("inspecting", Some(Reason::HostNotProvisioned)),
        ("powering off before delete", Some(Reason::HostNotProvisioned)),
        ("deleting", Some(Reason::HostNotProvisioned)),
        ("one of a later version", Some(Reason::HostNotProvisioned)),
    ] {
        let mut host = provisioned();
        state.clone_into(&mut host.state);
        let found = may_be_fenced(&host, &reference, &consumer(), "").err();
        assert_eq!(found.map(|found| found.reason), expected, "{state}");
    }
}

/// Source: the same file, `OperationalStatus` and `ErrorType`.
#[test]
fn what_metal3_works_on_is_left_to_it_and_what_it_only_fails_at_is_not() {
    let reference = HostReference {
        namespace: "metal".to_owned(),
        name: HostName::Known("host-0".to_owned()),
        uid: None,
    };
    for (status, error, expected) in [
        ("", "", None),
        ("OK", "", None),
        ("detached", "", None),
        ("error", "power management error", None),
        ("error", "provisioned registration error", None),
        ("error", "detach error", None),
        ("error", "", None),
        (
            "servicing",
            "",
            Some((Reason::HostServicing, "is being serviced")),
        ),
        // It goes on with it, and obeys no annotation before that has worked.
        (
            "error",
            "servicing error",
            Some((Reason::HostServicing, "servicing has failed")),
        ),
        (
            "rebuilding",
            "",
            Some((Reason::HostUnreadable, "status.operationalStatus \"rebuilding\"")),
        ),
    ] {
        let mut host = provisioned();
        (host.operational_status, host.error_type) = (status.to_owned(), error.to_owned());
        let found = may_be_fenced(&host, &reference, &consumer(), "").err();
        let reason = found.as_ref().map(|found| found.reason);
        assert_eq!(reason, expected.map(|(reason, _)| reason), "{status} {error}");
        let says = expected.map_or("", |(_, says)| says);
        assert!(found.is_none_or(|found| found.detail.contains(says)), "{says}");
    }
}

#[test]
fn who_has_paused_or_taken_a_host_is_named_where_it_is_known() {
    let reference = HostReference {
        namespace: "metal".to_owned(),
        name: HostName::Known("host-0".to_owned()),
        uid: None,
    };
    let refused = |change: Change<'_>| {
        let mut host = provisioned();
        change(&mut host);
        may_be_fenced(&host, &reference, &consumer(), "").unwrap_err()
    };
    let paused = refused(&|host| host.paused = Some("metal3.io/capm3".to_owned()));
    assert_eq!(paused.reason, Reason::HostPaused);
    assert!(paused.detail.contains("cluster-api-provider-metal3"), "{paused}");
    let paused = refused(&|host| host.paused = Some("night shift".to_owned()));
    assert!(!paused.detail.contains("cluster-api-provider-metal3"), "{paused}");
    let taken = refused(&|host| {
        host.consumer = Some(Consumer {
            kind: "HostClaim".to_owned(),
            namespace: "metal".to_owned(),
            name: "claimed".to_owned(),
        });
    });
    assert_eq!(taken.reason, Reason::HostConsumerMismatch);
    assert!(taken.detail.contains("names HostClaim metal/claimed"), "{taken}");
    let held = refused(&|host| host.reboot_annotations = vec!["reboot.metal3.io/iha".to_owned()]);
    assert_eq!(held.reason, Reason::HostHeldBySomeoneElse);
    assert!(held.detail.contains("InstanceHA"), "{held}");
    let free = refused(&|host| host.consumer = None);
    assert!(free.detail.contains("names nobody"), "{free}");
}

#[test]
fn our_hold_is_told_from_those_of_others_and_its_name_is_short_enough() {
    let ours = annotation_of("6a1b3c5d-0000-4000-8000-000000000001");
    assert_eq!(
        is_annotation_of_ours(&ours),
        Some("6a1b3c5d-0000-4000-8000-000000000001")
    );
    assert_eq!(
        is_annotation_of_ours("reboot.metal3.io/metal3-remediation-6a1b3c5d"),
        None
    );
    assert_eq!(is_annotation_of_ours("reboot.metal3.io"), None);
    let (_, name) = ours.split_once('/').unwrap();
    assert!(name.len() <= 63, "{name}");

    let mut host = BareMetalHost {
        reboot_annotations: vec![ours.clone()],
        operational_status: "detached".to_owned(),
        detached: true,
        ..provisioned()
    };
    let view = host.view(&ours);
    assert!(view.held && view.detached && !view.detaching && !view.is_free());
    host.detached_for = Some(ours.clone());
    assert!(host.view(&ours).detaching);
    assert!(host.view(&annotation_of("another")).is_free());
}

#[test]
fn a_host_is_not_free_while_a_mark_of_ours_is_on_it() {
    let ours = annotation_of("ours");
    let another = annotation_of("another");
    let marked = BareMetalHost {
        labelled_for: Some(another.clone()),
        noted_for: Some(ours.clone()),
        ..provisioned()
    };
    let view = marked.view(&ours);
    assert!(view.noted && !view.labelled && !view.held && !view.is_free());
    let view = marked.view(&another);
    assert!(view.labelled && !view.noted && !view.is_free());
    assert!(marked.view(&annotation_of("third")).is_free());
}

#[test]
fn who_else_keeps_a_host_off_that_is_held_is_told() {
    let ours = annotation_of("pcr-uid");
    let keeps = |change: Change<'_>| {
        let mut host = provisioned();
        host.reboot_annotations.push(ours.clone());
        change(&mut host);
        let kept_off = host.view(&ours).kept_off;
        kept_off.map(|obstacle| (obstacle.reason, obstacle.detail))
    };
    let by =
        |annotation: &'static str| keeps(&|host| host.reboot_annotations.insert(0, annotation.to_owned()));
    assert_eq!(keeps(&|_| {}), None, "ours alone");
    // Ironic keeps it off, and nobody else wants that.
    assert_eq!(keeps(&|host| host.paused = Some("a person".to_owned())), None);
    assert_eq!(
        keeps(&|host| host.error_type = "servicing error".to_owned()),
        None
    );
    for (kept_off, reason, says) in [
        (
            by("reboot.metal3.io/metal3-remediation-1"),
            Reason::HostHeldBySomeoneElse,
            "Metal3Remediation",
        ),
        (
            by("reboot.metal3.io/capbm-requested-power-off"),
            Reason::HostHeldBySomeoneElse,
            "baremetal",
        ),
        (
            by("reboot.metal3.io"),
            Reason::HostHeldBySomeoneElse,
            "reboot.metal3.io",
        ),
        (
            keeps(&|host| host.online = false),
            Reason::HostOffline,
            "spec.online: false",
        ),
        (
            keeps(&|host| host.operational_status = "servicing".to_owned()),
            Reason::HostServicing,
            "being serviced",
        ),
        (
            keeps(&|host| host.state = "deprovisioning".to_owned()),
            Reason::HostNotProvisioned,
            "deprovisioning",
        ),
    ] {
        let (found, detail) = kept_off.unwrap();
        assert_eq!(found, reason);
        assert!(detail.contains(says), "{detail}");
    }
}
