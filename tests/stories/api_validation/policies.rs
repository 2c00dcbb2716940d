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
    for network in ["10.0.0.0", "bmc.example/24", "10.0.0.0/", "/8", "10.0.0.0/8/8"] {
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
