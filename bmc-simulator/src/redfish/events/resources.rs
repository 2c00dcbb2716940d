//! `EventService` and `EventDestination`.

use serde_json::{Value, json};

use super::{Kind, ServiceChange};
use crate::host::Acting;
use crate::redfish::body_of::{collection, reference, resource, set};
use crate::redfish::patch::{Change, Plan, text, whole};
use crate::redfish::schema;

pub(in crate::redfish) const SERVICE: &str = "/redfish/v1/EventService";
pub(super) const SUBSCRIPTIONS: &str = "/redfish/v1/EventService/Subscriptions";

/// `/redfish/v1/EventService`.
pub(in crate::redfish) fn service(acting: &Acting<'_>) -> Value {
    let events = &acting.state.redfish.events;
    resource(
        schema::EVENT_SERVICE,
        SERVICE,
        "EventService",
        "Event Service",
        json!({
            "Status": {"State": "Enabled", "Health": "OK"},
            "ServiceEnabled": true,
            "DeliveryRetryAttempts": events.attempts,
            "DeliveryRetryIntervalSeconds": events.interval,
            "EventFormatTypes": ["Event"],
            "RegistryPrefixes": ["ResourceEvent", "TaskEvent"],
            "ServerSentEventUri": format!("{SERVICE}/SSE"),
            "Subscriptions": reference(SUBSCRIPTIONS),
            "Actions": {"#EventService.SubmitTestEvent": {
                "target": format!("{SERVICE}/Actions/EventService.SubmitTestEvent"),
            }},
        }),
    )
}

/// PATCH of the service.
pub(in crate::redfish) fn plan_service(plan: &mut Plan, name: &str, value: &Value) -> bool {
    let (change, range): (fn(u64) -> ServiceChange, _) = match name {
        "DeliveryRetryAttempts" => (ServiceChange::Attempts, 0..=10),
        "DeliveryRetryIntervalSeconds" => (ServiceChange::Interval, 1..=3600),
        _ => return false,
    };
    plan.take(whole(name, value, &range), |number| {
        Change::EventService(change(number))
    });
    true
}

/// PATCH of a subscription.
pub(in crate::redfish) fn plan_subscription(plan: &mut Plan, id: u64, name: &str, value: &Value) -> bool {
    if name != "Context" {
        return false;
    }
    plan.take(text(name, value), |context| {
        Change::SubscriptionContext(id, context)
    });
    true
}

/// `/redfish/v1/EventService/Subscriptions`.
pub(in crate::redfish) fn subscriptions(acting: &Acting<'_>) -> Value {
    let ids = acting.state.redfish.events.known.keys();
    let uris = ids.map(|id| format!("{SUBSCRIPTIONS}/{id}"));
    collection(schema::SUBSCRIPTIONS, SUBSCRIPTIONS, "Event Subscriptions", uris)
}

/// `/redfish/v1/EventService/Subscriptions/{id}`.
pub(in crate::redfish) fn subscription(acting: &Acting<'_>, id: u64) -> Option<Value> {
    let subscription = acting.state.redfish.events.known.get(&id)?;
    let kind = match &subscription.kind {
        Kind::Stream => "SSE",
        Kind::Push { .. } => "RedfishEvent",
    };
    let mut body = resource(
        schema::SUBSCRIPTION,
        &format!("{SUBSCRIPTIONS}/{id}"),
        &id.to_string(),
        "Event Subscription",
        json!({
            "Context": subscription.context,
            "Protocol": "Redfish",
            "SubscriptionType": kind,
            "EventFormatType": "Event",
            "RegistryPrefixes": subscription.prefixes,
            "MessageIds": subscription.message_ids,
            "Status": {"State": "Enabled", "Health": "OK"},
        }),
    );
    if let Kind::Push { destination } = &subscription.kind {
        set(&mut body, "Destination", json!(destination));
        set(&mut body, "VerifyCertificate", json!(false));
    }
    Some(body)
}
