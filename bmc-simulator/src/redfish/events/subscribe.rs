//! POST of a push subscription, and the test event.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, Uri};
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use super::push::{self, Target};
use super::resources::{SERVICE, SUBSCRIPTIONS};
use super::{BACKLOG, Kind, Record, Subscription};
use crate::host::Acting;
use crate::redfish::message::{Base, Message, ResourceEvent};
use crate::redfish::patch::{flag, text};
use crate::redfish::route::Route;
use crate::redfish::{read, reply};

/// What a client asks for.
#[derive(Default)]
struct Wanted {
    destination: Option<String>,
    protocol: bool,
    context: String,
    prefixes: Vec<String>,
    message_ids: Vec<String>,
    headers: HeaderMap,
}

/// Answers a POST to the collection of subscriptions.
pub(in crate::redfish) fn create(acting: &mut Acting<'_>, object: &Map<String, Value>) -> Response<Body> {
    if acting.state.redfish.events.is_full() {
        let full = Base::EventSubscriptionLimitExceeded.message(&[]);
        return reply::error(StatusCode::SERVICE_UNAVAILABLE, full);
    }
    let (wanted, wrong) = wanted(object);
    let Some(destination) = wanted.destination.filter(|_| wrong.is_empty()) else {
        return reply::errors(StatusCode::BAD_REQUEST, &wrong);
    };
    let (sender, receiver) = mpsc::channel(BACKLOG);
    let events = &mut acting.state.redfish.events;
    let target = Target {
        destination: destination.clone(),
        headers: wanted.headers,
        attempts: events.attempts,
        interval: std::time::Duration::from_secs(events.interval),
    };
    let ended = acting.core.stop.child_token();
    let id = events.add(Subscription {
        kind: Kind::Push { destination },
        context: wanted.context,
        prefixes: wanted.prefixes,
        message_ids: wanted.message_ids,
        sender,
        _delivering: Some(ended.clone().drop_guard()),
    });
    tokio::spawn(push::deliver(target, receiver, ended));
    match read::tagged(acting, &Route::Subscription(id)) {
        Some(created) => reply::created(&format!("{SUBSCRIPTIONS}/{id}"), &created),
        None => reply::no_content(),
    }
}

fn wanted(object: &Map<String, Value>) -> (Wanted, Vec<Message>) {
    let (mut wanted, mut wrong) = (Wanted::default(), Vec::new());
    for (name, value) in object {
        if let Err(message) = take(&mut wanted, name, value) {
            wrong.push(message.about(name));
        }
    }
    for (name, given) in [
        ("Destination", object.contains_key("Destination")),
        ("Protocol", object.contains_key("Protocol")),
    ] {
        if !given {
            let missing = Base::CreateFailedMissingReqProperties.message(&[name]);
            wrong.push(missing.about(name));
        }
    }
    (wanted, wrong)
}

fn take(wanted: &mut Wanted, name: &str, value: &Value) -> Result<(), Message> {
    match name {
        "Destination" => wanted.destination = Some(destination(value)?),
        "Protocol" => {
            one_of(name, value, &["Redfish"])?;
            wanted.protocol = true;
        }
        "Context" => wanted.context = text(name, value)?,
        "RegistryPrefixes" => wanted.prefixes = texts(name, value)?,
        "MessageIds" => wanted.message_ids = texts(name, value)?,
        "HttpHeaders" => wanted.headers = headers(value)?,
        "SubscriptionType" => one_of(name, value, &["RedfishEvent"])?,
        "EventFormatType" => one_of(name, value, &["Event"])?,
        // There is no authority that it could be verified against.
        "VerifyCertificate" if flag(name, value)? => {
            return Err(Base::PropertyValueNotInList.message(&["true", name]));
        }
        // A filter of old clients: every event passes it.
        "VerifyCertificate" | "EventTypes" => {}
        _ if name.starts_with("@odata.") => {}
        _ => return Err(Base::PropertyUnknown.message(&[name])),
    }
    Ok(())
}

fn destination(value: &Value) -> Result<String, Message> {
    let uri = text("Destination", value)?;
    let fit = uri.parse::<Uri>().is_ok_and(|parsed| {
        let scheme = parsed.scheme_str();
        parsed.host().is_some() && (scheme == Some("http") || scheme == Some("https"))
    });
    if fit {
        Ok(uri)
    } else {
        Err(Base::PropertyValueFormatError.message(&[&uri, "Destination"]))
    }
}

fn one_of(name: &str, value: &Value, allowed: &[&str]) -> Result<(), Message> {
    let word = text(name, value)?;
    if allowed.contains(&word.as_str()) {
        Ok(())
    } else {
        Err(Base::PropertyValueNotInList.message(&[&word, name]))
    }
}

fn texts(name: &str, value: &Value) -> Result<Vec<String>, Message> {
    let Some(values) = value.as_array() else {
        return Err(Base::PropertyValueTypeError.message(&[&value.to_string(), name]));
    };
    values.iter().map(|value| text(name, value)).collect()
}

/// `[{"Name": "value"}, ...]`, sent with each event and never shown.
fn headers(value: &Value) -> Result<HeaderMap, Message> {
    let wrong = || Base::PropertyValueFormatError.message(&["***", "HttpHeaders"]);
    let mut headers = HeaderMap::new();
    for entry in value.as_array().ok_or_else(wrong)? {
        for (name, value) in entry.as_object().ok_or_else(wrong)? {
            let name: HeaderName = name.parse().map_err(|_| wrong())?;
            let value = value.as_str().ok_or_else(wrong)?;
            headers.append(name, HeaderValue::from_str(value).map_err(|_| wrong())?);
        }
    }
    Ok(headers)
}

/// Answers `EventService.SubmitTestEvent`: tells subscribers of the message that is asked for.
pub(in crate::redfish) fn submit_test_event(
    acting: &mut Acting<'_>,
    object: &Map<String, Value>,
) -> Response<Body> {
    let field = |name: &str| object.get(name).and_then(Value::as_str).map(str::to_owned);
    let Some(id) = field("MessageId") else {
        let action = "EventService.SubmitTestEvent";
        let missing = Base::ActionParameterMissing.message(&[action, "MessageId"]);
        return reply::error(StatusCode::BAD_REQUEST, missing.about("MessageId"));
    };
    let arguments = object.get("MessageArgs").and_then(Value::as_array);
    let mut message = ResourceEvent::StateChanged.message(&["-", "-"]);
    message.text = field("Message").unwrap_or_else(|| "A test event.".to_owned());
    message.arguments = arguments
        .into_iter()
        .flatten()
        .filter_map(|argument| argument.as_str().map(str::to_owned))
        .collect();
    message.id = id;
    let record = Record {
        message,
        origin: field("OriginOfCondition").unwrap_or_else(|| SERVICE.to_owned()),
        event_id: field("EventId"),
    };
    super::send(acting, &record);
    reply::no_content()
}
