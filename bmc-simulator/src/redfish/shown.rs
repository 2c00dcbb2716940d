//! Which power states an answer shows: what is journalled as observed is what is in the body that is sent.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::http::{Method, Response, StatusCode};
use serde_json::{Map, Value};

use super::fate::Sent;
use super::route::Route;
use super::{Call, chassis, conditional, system};
use crate::host::Acting;
use crate::journal::{Delivery, Event, Via};

/// The word for each system's power; `None` = null.
type Words = BTreeMap<String, Option<String>>;

/// Journals the power states that an answer to `via` shows: of a system, or of the chassis that it is in.
/// An answer to HEAD shows none, nor does one from which they were selected away.
pub(super) fn observe(
    call: &Call<'_>,
    acting: &mut Acting<'_>,
    via: &Via,
    body: &Value,
    answer: &mut Response<Body>,
) {
    if call.parts.method == Method::HEAD {
        return;
    }
    let seen = words(acting, call.route, body);
    let (mut sent, instead) = call.sends_body(acting, answer);
    if knows_nothing(call, answer) {
        sent.delivery = Delivery::Lost;
    }
    let instead = instead.map(|body| words(acting, call.route, &body));
    for (system, word) in seen {
        let left = instead.as_ref().map(|words| words.get(&system));
        let (reported, sent) = match left {
            None => (word, sent),
            Some(Some(other)) => (other.clone(), sent),
            Some(None) => {
                let delivery = Delivery::Lost;
                (word, Sent { delivery, ..sent })
            }
        };
        let (_, truth) = system::power(acting, &system);
        let event = Event::Observed {
            system,
            via: via.clone(),
            reported,
            truth,
            status: sent.status,
            delivery: sent.delivery,
        };
        call.entries.log(acting, event, sent.delivery);
    }
}

/// Whether the answer is that nothing changed, to somebody who need not know what there was.
fn knows_nothing(call: &Call<'_>, answer: &Response<Body>) -> bool {
    answer.status() == StatusCode::NOT_MODIFIED && conditional::names_anything(&call.parts.headers)
}

fn words(acting: &Acting<'_>, route: &Route, body: &Value) -> Words {
    let mut found = Found::default();
    if let Value::Object(properties) = body {
        if matches!(route, Route::System(_) | Route::Chassis(_)) {
            found.note(acting, route, properties);
        } else {
            found.note_by_name(acting, properties);
        }
        properties.values().for_each(|value| found.walk(acting, value));
    }
    let mut words = found.of_chassis;
    words.extend(found.of_systems);
    words
}

#[derive(Default)]
struct Found {
    of_systems: Words,
    of_chassis: Words,
}

impl Found {
    fn walk(&mut self, acting: &Acting<'_>, value: &Value) {
        match value {
            Value::Array(values) => values.iter().for_each(|value| self.walk(acting, value)),
            Value::Object(properties) => {
                self.note_by_name(acting, properties);
                properties.values().for_each(|value| self.walk(acting, value));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn note_by_name(&mut self, acting: &Acting<'_>, properties: &Map<String, Value>) {
        if let Some(uri) = properties.get("@odata.id").and_then(Value::as_str) {
            self.note(acting, &Route::of(uri), properties);
        }
    }

    fn note(&mut self, acting: &Acting<'_>, route: &Route, properties: &Map<String, Value>) {
        let Some(word) = properties.get("PowerState") else {
            return;
        };
        let word = word.as_str().map(str::to_owned);
        if let Route::System(id) = route {
            self.of_systems.insert(id.clone(), word);
        } else if let Route::Chassis(id) = route
            && let Some(slot) = chassis::shown(acting, id)
        {
            let inside = acting.core.identities.real(slot).id.clone();
            self.of_chassis.insert(inside, word);
        }
    }
}
