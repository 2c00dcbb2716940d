//! A fault, and when and for whom it is meant.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Fault, Probability};
use crate::RequestClass;

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
    /// Only for this one of several systems: for what it does and reports, and for requests about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
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

    /// Limits the fault to one of several systems.
    pub fn system(self, id: impl Into<String>) -> Self {
        Self {
            system: Some(id.into()),
            ..self
        }
    }

    /// Whether it is meant for this system, or for what is about none.
    pub(super) fn is_of(&self, system: Option<&str>) -> bool {
        self.system.is_none() || self.system.as_deref() == system
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
}

impl From<Fault> for Injection {
    fn from(fault: Fault) -> Self {
        let on = fault.usual_class();
        Self {
            fault,
            on,
            method: None,
            path: None,
            system: None,
            skip: None,
            times: None,
            probability: None,
            window: None,
        }
    }
}
