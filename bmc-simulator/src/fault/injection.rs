//! A fault, and when and for whom it is meant.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::effect::Effect;
use super::{Fault, Probability};
use crate::{RequestClass, SimError};

/// A fault and what it is meant for. Everything but the fault narrows it; what is absent does not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Injection {
    /// What to do.
    pub fault: Fault,
    /// Only for this kind of request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<RequestClass>,
    /// Only for requests with this HTTP method.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Only for requests of this path, in which `*` stands for any text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Spares the first so many requests that it applies to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skip: Option<u32>,
    /// For so many requests, not counting the spared ones; absent = until cleared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
    /// Hits a request that it applies to with this probability, by the simulator's seed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<Probability>,
    /// Only in this span of time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
}

/// A span of time, counted from when the fault was set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Window {
    /// Its begin; absent = at once.
    #[serde(default, with = "crate::human::text")]
    pub from: Duration,
    /// Its end.
    #[serde(with = "crate::human::text")]
    pub until: Duration,
}

impl Window {
    /// Whether a time since the fault was set lies in it.
    pub(super) fn holds(&self, age: Duration) -> bool {
        self.from <= age && age < self.until
    }
}

impl Injection {
    /// Limits the fault to one kind of request.
    pub fn on(self, class: RequestClass) -> Self {
        Self {
            on: Some(class),
            ..self
        }
    }

    /// Limits the fault to one HTTP method.
    pub fn method(self, method: impl Into<String>) -> Self {
        Self {
            method: Some(method.into()),
            ..self
        }
    }

    /// Limits the fault to a path, in which `*` stands for any text.
    pub fn path(self, pattern: impl Into<String>) -> Self {
        Self {
            path: Some(pattern.into()),
            ..self
        }
    }

    /// Spares the first `skip` requests that the fault applies to.
    pub fn skip(self, skip: u32) -> Self {
        Self {
            skip: Some(skip),
            ..self
        }
    }

    /// Limits the fault to the next `times` requests that it applies to.
    pub fn times(self, times: u32) -> Self {
        Self {
            times: Some(times),
            ..self
        }
    }

    /// Makes the fault hit by chance.
    pub fn probability(self, probability: Probability) -> Self {
        Self {
            probability: Some(probability),
            ..self
        }
    }

    /// Limits the fault to a span of time, counted from when it is set.
    pub fn window(self, from: Duration, until: Duration) -> Self {
        Self {
            window: Some(Window { from, until }),
            ..self
        }
    }

    /// Refuses what could have no effect, so that no test passes because its fault never was.
    pub(crate) fn check(&self) -> Result<(), SimError> {
        self.check_selectors()?;
        self.fault
            .check()
            .map_err(|(field, reason)| self.refusal(field, reason))?;
        let only = self.fault.only_class();
        if let (Some(only), Some(on)) = (only, self.on)
            && only != on
        {
            return Err(self.refusal(
                "on",
                "this fault is about another kind of request: leave the field out",
            ));
        }
        let is_http = self.method.is_some() || self.path.is_some();
        if self.on == Some(RequestClass::Connect) && is_http {
            return Err(self.refusal("path", "a connection has no method and no path: leave them out"));
        }
        self.check_protocol()
    }

    fn check_selectors(&self) -> Result<(), SimError> {
        let lasting = self.fault.effect() == Effect::Lasting;
        let per_request = [
            ("on", self.on.is_some()),
            ("method", self.method.is_some()),
            ("path", self.path.is_some()),
            ("skip", self.skip.is_some()),
            ("times", self.times.is_some()),
            ("probability", self.probability.is_some()),
        ];
        if let Some((field, _)) = per_request.iter().find(|(_, given)| lasting && *given) {
            return Err(self.refusal(
                field,
                "this fault is not about single requests: leave the field out",
            ));
        }
        if self.times == Some(0) {
            let reason = "zero requests would mean no fault: write 1 or more, or leave it out";
            return Err(self.refusal("times", reason));
        }
        if self.window.is_some_and(|window| window.from >= window.until) {
            return Err(self.refusal(
                "window",
                "it ends before it begins: let `until` be later than `from`",
            ));
        }
        let pattern = self.path.as_deref();
        if pattern.is_some_and(|path| !path.starts_with(['/', '*'])) {
            return Err(self.refusal("path", "no path begins so: begin with `/` or `*`"));
        }
        Ok(())
    }

    pub(super) fn refusal(&self, field: &'static str, reason: &'static str) -> SimError {
        SimError::InvalidFault {
            fault: self.fault.name(),
            field,
            reason,
        }
    }
}

impl From<Fault> for Injection {
    fn from(fault: Fault) -> Self {
        let on = fault.usual_class();
        Self {
            fault,
            on,
            method: None,
            path: None,
            skip: None,
            times: None,
            probability: None,
            window: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::{Fault, Injection, RequestClass};

    #[test]
    fn refuses_what_could_have_no_effect() {
        let redirect = Fault::Redirect {
            to: "a\r\nb".to_owned(),
        };
        let second = Duration::from_secs(1);
        for (injection, field) in [
            (Fault::LieOffWhileOn.on(RequestClass::Reset), "`on`"),
            (Injection::from(Fault::WrongUuid).path("/x"), "`path`"),
            (Fault::WrongUuid.times(1), "`times`"),
            (Fault::Hang.times(0), "`times`"),
            (Injection::from(Fault::Hang).path("Systems"), "`path`"),
            (Injection::from(Fault::Hang).window(second, second), "`window`"),
            (Fault::http_status(99).into(), "`status`"),
            (redirect.into(), "`to`"),
            (Fault::AlreadyThere409.on(RequestClass::SystemGet), "`on`"),
        ] {
            let error = injection.check().unwrap_err().to_string();
            assert!(error.contains(field), "{error}");
        }
        assert!(Fault::Hang.on(RequestClass::Reset).times(1).check().is_ok());
    }
}
