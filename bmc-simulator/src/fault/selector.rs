//! Which requests a fault is meant for.

use super::Injection;
use crate::RequestClass;

/// What is asked of a BMC, as far as faults select by it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) class: RequestClass,
    /// Method and path, where the protocol has them.
    pub(crate) http: Option<(&'a str, &'a str)>,
}

impl From<RequestClass> for Asked<'_> {
    fn from(class: RequestClass) -> Self {
        Self { class, http: None }
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
        of_class && of_method && of_path
    }
}

/// Whether a path is as a pattern says, in which `*` stands for any text, also none.
fn matches(pattern: &str, path: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = path.strip_prefix(first) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        let Some((_, behind)) = rest.split_once(part) else {
            return false;
        };
        rest = behind;
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_star_stands_for_any_text() {
        let reset = "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset";
        for good in [
            reset,
            "*",
            "*.Reset",
            "/redfish/*/1/*",
            "/redfish/v1/Systems/*/Actions/*",
            "**Reset",
        ] {
            assert!(matches(good, reset), "{good}");
        }
        for bad in [
            "",
            "/redfish",
            "*.reset",
            "/x*",
            "*Reset*x",
            "/redfish/v1/Systems/1",
        ] {
            assert!(!matches(bad, reset), "{bad}");
        }
        assert!(!matches("ab*ba", "aba"));
    }
}
