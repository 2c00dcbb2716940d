//! Which requests a fault is meant for.

use super::Injection;
use super::pattern::matches;
use crate::RequestClass;

/// What is asked of a BMC, as far as faults select by it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) class: RequestClass,
    /// Method and path, where the protocol has them.
    pub(crate) http: Option<(&'a str, &'a str)>,
    /// Id of the system that it is about.
    pub(crate) system: Option<&'a str>,
}

impl From<RequestClass> for Asked<'_> {
    fn from(class: RequestClass) -> Self {
        Self {
            class,
            http: None,
            system: None,
        }
    }
}

impl Asked<'_> {
    /// Whether the fault is meant for this, by what is asked alone.
    pub(super) fn is_selected_by(&self, injection: &Injection) -> bool {
        let (method, path) = self.http.unwrap_or_default();
        let of_class = injection.on.is_none_or(|on| on == self.class);
        let of_method = injection
            .method
            .as_deref()
            .is_none_or(|wanted| wanted.eq_ignore_ascii_case(method));
        let of_path = injection
            .path
            .as_deref()
            .is_none_or(|pattern| matches(pattern, path));
        let of_system = injection.is_of(self.system);
        of_class && of_method && of_path && of_system
    }
}
