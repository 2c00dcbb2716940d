//! The documents at the top: versions, OData service document and service root.

use serde_json::{Value, json};

use super::body_of::{reference, resource, set};
use super::query::MAX_LEVELS;
use super::{accounts, chassis, events, manager, message, schema, sessions, system, tasks, update};
use crate::host::Acting;
use crate::per_machine::Slot;

const ROOT: &str = "/redfish/v1/";

/// `/redfish` (DSP0266, "Redfish version").
pub(super) fn versions() -> Value {
    json!({"v1": ROOT})
}

/// What the root links to: name and URI.
fn services(acting: &Acting<'_>) -> Vec<(&'static str, &'static str)> {
    let mut services = vec![
        ("Systems", system::SYSTEMS),
        ("Chassis", chassis::CHASSIS),
        ("Managers", manager::MANAGERS),
        ("Tasks", tasks::SERVICE),
        ("AccountService", accounts::SERVICE),
        ("EventService", events::SERVICE),
        ("UpdateService", update::SERVICE),
        ("Registries", message::REGISTRIES),
        ("JsonSchemas", schema::SCHEMAS),
    ];
    if sessions::offered(acting) {
        services.push(("SessionService", sessions::SERVICE));
    }
    services
}

/// `/redfish/v1/odata` (DSP0266, "OData service document").
pub(super) fn odata(acting: &Acting<'_>) -> Value {
    let mut named = services(acting);
    named.push(("Service", ROOT));
    if sessions::offered(acting) {
        named.push(("Sessions", sessions::place(acting)));
    }
    let value: Vec<Value> = named
        .iter()
        .map(|(name, url)| json!({"name": name, "kind": "Singleton", "url": url}))
        .collect();
    json!({"@odata.context": "/redfish/v1/$metadata", "value": value})
}

/// `/redfish/v1`.
pub(super) fn service_root(acting: &Acting<'_>) -> Value {
    let identities = &acting.core.identities;
    let mut root = resource(
        schema::SERVICE_ROOT,
        ROOT,
        "RootService",
        "Root Service",
        json!({
            "RedfishVersion": "1.20.0",
            "UUID": identities.service_uuid,
            "ProtocolFeaturesSupported": {
                "ExpandQuery": {
                    "ExpandAll": true,
                    "Levels": true,
                    "Links": true,
                    "NoLinks": true,
                    "MaxLevels": MAX_LEVELS,
                },
                "SelectQuery": true,
                "OnlyMemberQuery": true,
                "ExcerptQuery": false,
                "FilterQuery": false,
                "TopSkipQuery": false,
                "MultipleHTTPRequests": true,
                "DeepOperations": {"DeepPATCH": false, "DeepPOST": false},
            },
            "Links": {},
        }),
    );
    introduce(acting, &mut root);
    for (name, uri) in services(acting) {
        set(&mut root, name, reference(uri));
    }
    if sessions::offered(acting) {
        set(
            &mut root,
            "Links",
            json!({"Sessions": reference(sessions::place(acting))}),
        );
    }
    root
}

/// Who made the service.
fn introduce(acting: &Acting<'_>, root: &mut Value) {
    let Some(maker) = &acting.state.redfish.spec.service_root else {
        let product = acting.core.identities.real(Slot::FIRST);
        set(root, "Vendor", json!(product.manufacturer));
        set(root, "Product", json!(product.model));
        return;
    };
    let texts = [
        ("Vendor", &maker.vendor),
        ("Product", &maker.product),
        ("RedfishVersion", &maker.redfish_version),
    ];
    for (name, text) in texts {
        if let Some(text) = text {
            set(root, name, json!(text));
        }
    }
    if let Some(oem) = &maker.oem {
        // DSP0266, "OEM property format": each vendor's object names its type.
        let kind = format!("#{oem}ServiceRoot.v1_0_0.{oem}ServiceRoot");
        set(root, "Oem", json!({oem: {"@odata.type": kind}}));
    }
}
