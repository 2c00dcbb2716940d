//! The RemediationPolicy.

use anyhow::Context as _;
use serde_json::json;

use super::Kinds;

#[tokio::test]
async fn there_is_one_policy_and_its_networks_are_networks() -> world::Outcome {
    let kinds = Kinds::new().await?;
    let kind = "RemediationPolicy";
    let only = "there is exactly one policy, and it is named default";
    kinds.refuses(kind, "another", &json!({}), &[only]).await?;
    for network in [
        "10.0.0.0",
        "bmc.example/24",
        "10.0.0.0/",
        "/8",
        "10.0.0.0/8/8",
        "300.0.0.0/8",
        "127.0.0.0/99",
        "2001:db8::/129",
    ] {
        let spec = json!({"bmc": {"allowedNetworks": [network]}});
        let says = ["spec.bmc.allowedNetworks[0]"];
        kinds
            .refuses(kind, "default", &spec, &says)
            .await
            .with_context(|| network.to_owned())?;
    }
    let transport = json!({"bmc": {"minimumTransport": "None"}});
    let says = ["spec.bmc.minimumTransport", "VerifiedTLS"];
    kinds.refuses(kind, "default", &transport, &says).await?;
    let level = json!({"logLevel": "Trace"});
    let says = ["spec.logLevel", "Debug"];
    kinds.refuses(kind, "default", &level, &says).await?;
    for (protocols, says) in [
        (json!(["Telnet"]), "Unsupported value"),
        (json!(["IPMI", "IPMI"]), "Duplicate value"),
        (json!([]), "at least 1 items"),
    ] {
        let spec = json!({"bmc": {"protocols": protocols}});
        let says = ["spec.bmc.protocols", says];
        kinds.refuses(kind, "default", &spec, &says).await?;
    }
    let good = json!({"bmc": {
        "allowedNetworks": ["10.0.0.0/8", "2001:db8::/32"], "protocols": ["Redfish", "IPMI"],
    }});
    kinds.try_out(kind, "default", &good).await?;
    for (protocols, fallback, says) in [
        (
            json!(["Redfish"]),
            json!({}),
            "fallbackToIPMI needs IPMI among protocols",
        ),
        (
            json!(null),
            json!({"port": 623}),
            "fallbackToIPMI needs IPMI among protocols",
        ),
        (
            json!(["IPMI"]),
            json!({"port": 0}),
            "spec.bmc.fallbackToIPMI.port",
        ),
        (
            json!(["IPMI"]),
            json!({"port": 65536}),
            "spec.bmc.fallbackToIPMI.port",
        ),
        (json!(["IPMI"]), json!(true), "spec.bmc.fallbackToIPMI"),
    ] {
        let spec = json!({"bmc": {"protocols": protocols, "fallbackToIPMI": fallback}});
        kinds.refuses(kind, "default", &spec, &[says]).await?;
    }
    for fallback in [json!({}), json!({"port": 6230})] {
        let spec = json!({"bmc": {"protocols": ["Redfish", "IPMI"], "fallbackToIPMI": fallback}});
        kinds.try_out(kind, "default", &spec).await?;
    }
    for interval in ["9s", "169h", "-6h", "never", "6", ""] {
        let spec = json!({"bmc": {"readiness": {"interval": interval}}});
        let says = ["spec.bmc.readiness.interval"];
        kinds
            .refuses(kind, "default", &spec, &says)
            .await
            .with_context(|| interval.to_owned())?;
    }
    for interval in ["off", "0", "0s", "10s", "1h30m", "168h"] {
        let spec = json!({"bmc": {"readiness": {"interval": interval}}});
        kinds
            .try_out(kind, "default", &spec)
            .await
            .with_context(|| interval.to_owned())?;
    }
    Ok(())
}

#[tokio::test]
async fn what_is_allowed_is_what_there_is_and_does_not_contradict_triggers() -> world::Outcome {
    let kinds = Kinds::new().await?;
    let kind = "RemediationPolicy";
    let lists = ["machines", "endpoints", "requests"];
    for list in lists {
        for (names, says) in [
            (json!(["Tenant"]), "should match"),
            (json!(["tenant_a"]), "should match"),
            (json!(["a.b"]), "should match"),
            (json!(["-a"]), "should match"),
            (json!(["*"]), "should match"),
            (json!([""]), "should match"),
            (json!(["a".repeat(64)]), "may not be more than 63"),
            (json!([null]), "must be of type string"),
            (json!("a"), "must be of type array"),
        ] {
            let spec = json!({"allowed": {"namespaces": {list: names}}});
            let says = [&format!("spec.allowed.namespaces.{list}"), says];
            let refused = kinds.refuses(kind, "default", &spec, &says).await;
            refused.with_context(|| spec.to_string())?;
        }
    }
    for (list, good) in [
        (
            "fencingModes",
            json!(["Automatic", "OutOfServiceTaint", "NodeDeletion"]),
        ),
        ("hostControls", json!(["Managed", "Direct"])),
        ("escalations", json!(["None", "MachineOwner", "MachineDeletion"])),
    ] {
        for (values, says) in [
            (json!(["Hope"]), "Unsupported value"),
            (json!([]), "at least 1 items"),
        ] {
            let spec = json!({"allowed": {list: values}});
            let says = [&format!("spec.allowed.{list}"), says];
            let refused = kinds.refuses(kind, "default", &spec, &says).await;
            refused.with_context(|| spec.to_string())?;
        }
        let field = list.trim_end_matches('s');
        let says = [&format!("triggers.{field} has to be among allowed.{list}")[..]];
        let by_default = json!({"allowed": {list: [good[1]]}});
        kinds.refuses(kind, "default", &by_default, &says).await?;
        let stated = json!({"allowed": {list: [good[0]]}, "triggers": {field: good[1]}});
        kinds.refuses(kind, "default", &stated, &says).await?;
        let agreed = json!({"allowed": {list: [good[1]]}, "triggers": {field: good[1]}});
        kinds.try_out(kind, "default", &agreed).await?;
        kinds
            .try_out(kind, "default", &json!({"allowed": {list: good}}))
            .await?;
    }
    for namespaces in [
        json!({"machines": ["a", "b-1", "0"], "endpoints": [], "requests": ["a".repeat(63)]}),
        // The daemon takes what has nothing behind its name for none.
        json!({"machines": null, "endpoints": null, "requests": null}),
    ] {
        let good = json!({"allowed": {"namespaces": namespaces}});
        let taken = kinds.try_out(kind, "default", &good).await?;
        assert_eq!(taken.data["spec"]["allowed"]["namespaces"], namespaces);
    }
    Ok(())
}
