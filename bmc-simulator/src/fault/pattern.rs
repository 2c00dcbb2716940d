//! Patterns of paths, in which `*` stands for any text.

use crate::redfish::SEGMENT;

/// Whether a path is as a pattern says, in which `*` stands for any text, also none.
pub(super) fn matches(pattern: &str, path: &str) -> bool {
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

/// Whether a path can be as the pattern says and as the template does, in which [`SEGMENT`] stands for one
/// segment; a slash at the end is as none.
pub(super) fn meets(pattern: &str, template: &str) -> bool {
    let template: Vec<char> = template.chars().collect();
    let with_slash: Vec<char> = template.iter().copied().chain(['/']).collect();
    meet(pattern, &template) || meet(pattern, &with_slash)
}

/// Column by column from the ends: `column[i]` = the rest of the pattern can be as `template[i..]`.
fn meet(pattern: &str, template: &[char]) -> bool {
    let mut column: Vec<bool> = (0..=template.len())
        .map(|index| index == template.len())
        .collect();
    for letter in pattern.chars().rev() {
        let mut before = vec![false; column.len()];
        for index in (0..column.len()).rev() {
            let next = index.saturating_add(1);
            let at = |column: &[bool], index: usize| column.get(index).copied().unwrap_or(false);
            let met = match template.get(index) {
                // The star takes nothing more, or one more of what is in the template.
                _ if letter == '*' => at(&column, index) || at(&before, next),
                // A segment has this letter, and goes on or ends with it.
                Some(&SEGMENT) => letter != '/' && (at(&column, index) || at(&column, next)),
                Some(&exact) => letter == exact && at(&column, next),
                None => false,
            };
            if let Some(slot) = before.get_mut(index) {
                *slot = met;
            }
        }
        column = before;
    }
    column.first().copied().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::{matches, meets};

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

    #[test]
    fn patterns_and_templates_meet_where_a_path_is_both() {
        let one = "/redfish/v1/Systems/{";
        for good in [
            "*",
            "/redfish/v1/Systems/1",
            "/redfish/v1/Systems/1/",
            "/redfish/v1/Systems/*",
            "*1",
            "*/",
            "/redfish/*/*",
            "/redfish/v1/Systems/HGX*0",
            "/red*sh/v1*",
        ] {
            assert!(meets(good, one), "{good}");
        }
        for bad in [
            "/redfish/v1/Systems",
            "/redfish/v1/Systems/",
            "/redfish/v1/Systems/*/Actions/*",
            "/redfish/v1/Chassis*",
            "/redfish/v1/Systems/1/2",
            "",
        ] {
            assert!(!meets(bad, one), "{bad}");
        }
        assert!(meets("/redfish/v1/", "/redfish/v1"));
        assert!(!meets("/redfish/v1/x*", "/redfish/v1"));
        assert!(meets(&"*".repeat(60_000), one), "and ends soon");
    }
}
