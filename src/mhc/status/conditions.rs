//! Conditions in the forms of the versions. Sources: cluster-api `api/core/v1beta1/condition_types.go`, whose form
//! is also that of openshift/api `machine/v1beta1`; apimachinery `pkg/apis/meta/v1/types.go`.

use jiff::Timestamp;
use serde_json::{Value, json};

/// A condition, before it has a version's form.
pub(super) struct ConditionText {
    pub(super) kind: &'static str,
    pub(super) status: &'static str,
    pub(super) reason: &'static str,
    pub(super) message: String,
}

impl ConditionText {
    /// A condition of v1beta1 says why only where it is not True, and how bad that is.
    pub(super) fn of_v1beta1(&self, since: &Value) -> Value {
        if self.status == "True" {
            return json!({"type": self.kind, "status": self.status, "lastTransitionTime": since});
        }
        json!({
            "type": self.kind, "status": self.status, "severity": "Warning", "lastTransitionTime": since,
            "reason": self.reason, "message": self.message,
        })
    }

    pub(super) fn of_v1beta2(&self, since: &Value, generation: Option<i64>) -> Value {
        json!({
            "type": self.kind, "status": self.status, "lastTransitionTime": since,
            "reason": self.reason, "message": self.message, "observedGeneration": generation.unwrap_or_default(),
        })
    }
}

/// The conditions of others as they are, and ours in their places or behind them. One whose status stays keeps
/// its time.
pub(super) fn listed(
    present: &Value,
    wanted: &[ConditionText],
    now: Timestamp,
    form: impl Fn(&ConditionText, &Value) -> Value,
) -> Value {
    let mut all = present.as_array().cloned().unwrap_or_default();
    for one in wanted {
        let place = all
            .iter()
            .position(|condition| *field(condition, "type") == one.kind);
        let before = place.and_then(|place| all.get(place));
        let since = before
            .filter(|before| *field(before, "status") == one.status)
            .map(|before| field(before, "lastTransitionTime").clone())
            .filter(Value::is_string);
        // The time of a condition has whole seconds.
        let seconds = || {
            Timestamp::from_second(now.as_second())
                .unwrap_or(now)
                .to_string()
                .into()
        };
        let condition = form(one, &since.unwrap_or_else(seconds));
        match place.and_then(|place| all.get_mut(place)) {
            Some(before) => *before = condition,
            None => all.push(condition),
        }
    }
    Value::Array(all)
}

/// A field of an object; null where there is none.
pub(super) fn field<'a>(object: &'a Value, name: &str) -> &'a Value {
    object.get(name).unwrap_or(&Value::Null)
}

/// Whether everything that is to be written stands there already. What is empty may be left out.
pub(super) fn stands(written: &Value, present: &Value) -> bool {
    match (written, present) {
        (Value::Object(written), present) => written
            .iter()
            .all(|(field, value)| stands(value, self::field(present, field))),
        (Value::Array(written), Value::Null) => written.is_empty(),
        (Value::Array(written), Value::Array(present)) => {
            written.len() == present.len()
                && written.iter().zip(present).all(|(one, other)| stands(one, other))
        }
        (Value::String(written), Value::Null) => written.is_empty(),
        (written, present) => written == present,
    }
}
