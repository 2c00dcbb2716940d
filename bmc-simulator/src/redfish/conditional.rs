//! Entity tags and the headers that test them (RFC 9110 sections 8.8.3 and 13.1).

use super::quirks::ETags;
use axum::http::{HeaderMap, HeaderName, header};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// A strong entity tag of what is served. `salt` tells states apart that look the same, such as an
/// account before and after a change of its password.
pub(super) fn tag_of(body: &Value, salt: u64) -> String {
    let mut digest = Sha256::new();
    digest.update(salt.to_be_bytes());
    digest.update(body.to_string());
    let text = format!("{:x}", digest.finalize());
    format!("\"{}\"", text.get(..16).unwrap_or(&text))
}

/// Whether the headers allow a change of what has this tag now: no `If-Match`, or one that names it as the
/// service compares tags.
pub(super) fn may_change(headers: &HeaderMap, current: &str, etags: ETags) -> bool {
    let current = opaque(current);
    let given: Vec<&str> = values(headers, &header::IF_MATCH).collect();
    given.is_empty()
        || given
            .iter()
            .any(|value| matches(value, |tag, weak| etags.takes_back(weak) && tag == current))
}

/// Whether `If-Match` stands for any state.
pub(super) fn is_any(headers: &HeaderMap) -> bool {
    values(headers, &header::IF_MATCH).any(|value| value.trim() == "*")
}

/// A tag without the mark of a weak one.
fn opaque(tag: &str) -> &str {
    tag.strip_prefix("W/").unwrap_or(tag)
}

/// Whether the client has what has this tag already: `If-None-Match` names it. Weak comparison.
pub(super) fn is_known(headers: &HeaderMap, current: &str) -> bool {
    let current = opaque(current);
    values(headers, &header::IF_NONE_MATCH).any(|value| matches(value, |tag, _| tag == current))
}

/// Whether `If-None-Match` is `*`, which any tag is: such a client need not know one.
pub(super) fn names_anything(headers: &HeaderMap) -> bool {
    values(headers, &header::IF_NONE_MATCH).any(|value| value.trim() == "*")
}

fn values<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    // A value that is no text names no tag of ours; it must still count as given.
    headers
        .get_all(name)
        .into_iter()
        .map(|value| value.to_str().unwrap_or_default())
}

/// Whether a header value is `*` or a list of tags of which one is wanted. A value that is not well
/// formed names nothing.
fn matches(value: &str, wanted: impl Fn(&str, bool) -> bool) -> bool {
    if value.trim() == "*" {
        return true;
    }
    let Some(tags) = parse(value) else {
        return false;
    };
    tags.iter().any(|(tag, weak)| wanted(tag, *weak))
}

/// Tags with their quotes, each with whether it is weak; `None` when the list is not well formed.
fn parse(value: &str) -> Option<Vec<(&str, bool)>> {
    let mut rest = value.trim();
    let mut tags = Vec::new();
    while !rest.is_empty() {
        let weak = rest.starts_with("W/");
        let tag = rest.strip_prefix("W/").unwrap_or(rest);
        let inner = tag.strip_prefix('"')?;
        let (opaque, after) = inner.split_once('"')?;
        if !opaque.bytes().all(|byte| byte == 0x21 || byte >= 0x23) {
            return None;
        }
        // The tag with both quotes: what is before the rest.
        tags.push((tag.strip_suffix(after)?, weak));
        let after = after.trim_start();
        rest = match after.strip_prefix(',') {
            Some(next) => next.trim_start(),
            None if after.is_empty() => after,
            None => return None,
        };
    }
    Some(tags)
}

#[cfg(test)]
mod tests {
    use super::{ETags, is_any, is_known, may_change, parse, tag_of};
    use axum::http::{HeaderMap, HeaderValue};
    use proptest::prelude::*;
    use serde_json::json;

    fn with(name: &'static str, value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_str(value).unwrap());
        headers
    }

    #[test]
    fn if_match_compares_strongly_and_if_none_match_weakly() {
        for (value, change, known) in [
            ("\"a\"", true, true),
            ("*", true, true),
            (" * ", true, true),
            ("W/\"a\"", false, true),
            ("\"b\", \"a\"", true, true),
            ("\"b\" ,W/\"a\"", false, true),
            ("\"b\"", false, false),
            ("\"a\"foobar", false, false),
            ("\"a", false, false),
            ("a", false, false),
            ("w/\"a\"", false, false),
            ("", false, false),
            ("\"\"", false, false),
        ] {
            assert_eq!(
                may_change(&with("if-match", value), "\"a\"", ETags::Strong),
                change,
                "{value}"
            );
            assert_eq!(is_any(&with("if-match", value)), value.trim() == "*", "{value}");
            assert_eq!(is_known(&with("if-none-match", value), "\"a\""), known, "{value}");
        }
        assert!(
            may_change(&HeaderMap::new(), "\"a\"", ETags::Strong) && !is_known(&HeaderMap::new(), "\"a\"")
        );
    }

    #[test]
    fn services_that_compare_in_their_own_way() {
        for (etags, own, weak, any) in [
            (ETags::Strong, true, false, true),
            (ETags::Weak, true, true, true),
            (ETags::WeakRefused, false, false, true),
            (ETags::Refused, false, false, true),
        ] {
            let current = etags.dress("\"a\"".to_owned());
            let allowed = |sent: &str| may_change(&with("if-match", sent), &current, etags);
            assert_eq!(
                (allowed(&current), allowed("W/\"a\""), allowed("*")),
                (own, weak, any),
                "{etags:?}"
            );
            assert!(is_known(&with("if-none-match", &current), &current), "{etags:?}");
        }
    }

    #[test]
    fn a_tag_depends_on_the_body_and_on_the_salt() {
        let tag = tag_of(&json!({"a": 1}), 0);
        assert_eq!(tag, tag_of(&json!({"a": 1}), 0));
        assert_ne!(tag, tag_of(&json!({"a": 2}), 0));
        assert_ne!(tag, tag_of(&json!({"a": 1}), 1));
        assert_eq!(tag.len(), 18);
    }

    proptest! {
        #[test]
        fn parsing_never_panics(value in "\\PC*") {
            let _ = parse(&value);
        }

        #[test]
        fn a_list_of_tags_comes_back(tags in prop::collection::vec(("[!#-~]{0,8}", any::<bool>()), 0..6)) {
            let written: Vec<String> = tags
                .iter()
                .map(|(tag, weak)| format!("{}\"{tag}\"", if *weak { "W/" } else { "" }))
                .collect();
            let list = written.join(", ");
            let expected: Vec<(String, bool)> =
                tags.iter().map(|(tag, weak)| (format!("\"{tag}\""), *weak)).collect();
            let found: Vec<(String, bool)> = parse(&list)
                .unwrap()
                .into_iter()
                .map(|(tag, weak)| (tag.to_owned(), weak))
                .collect();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn anything_after_a_tag_spoils_it(junk in "[a-z0-9\"]{1,8}") {
            let value = format!("\"a\"{junk}");
            prop_assert!(!may_change(&with("if-match", &value), "\"a\"", ETags::Strong));
        }
    }
}
