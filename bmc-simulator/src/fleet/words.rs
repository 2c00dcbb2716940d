//! What the YAML library says of a mistake, in words of the file.

use super::MOST_HOSTS;

/// The path as the file has it (empty: the whole file), and what is wrong there and what to write.
pub(super) fn in_plain_words(path: &str, reason: &str) -> (String, String) {
    let path = as_written(path);
    if let Some(key) = said_twice(reason) {
        let parent = path.trim_end_matches('?');
        return (
            format!("{parent}{key}"),
            "it is said twice: say it once".to_owned(),
        );
    }
    let path = path.trim_end_matches(['?', '.']).to_owned();
    let reason = expected(&path, reason).unwrap_or_else(|| reason.to_owned());
    (path, reason)
}

/// What belongs there, where the library says only what is wrong.
fn expected(path: &str, reason: &str) -> Option<String> {
    if reason.starts_with("missing field") {
        return Some(format!("{reason}: add it"));
    }
    if reason.starts_with("multiple YAML documents") {
        return Some("a second document begins here: write one file for each fleet".to_owned());
    }
    if reason.starts_with("invalid boolean") {
        return Some("write `true` or `false`".to_owned());
    }
    if reason == "expected string scalar" || reason.starts_with("cannot deserialize null into string") {
        return Some("a text belongs here: write one, in quotes if it looks like something else".to_owned());
    }
    let of_count = path.rsplit('.').next() == Some("count");
    let text = match reason {
        "unexpected end of input" => "the file is empty: describe at least one host, `hosts: [{name: NAME}]`",
        "expected mapping start" => "fields belong here: write `FIELD: VALUE` below it, or `{FIELD: VALUE}`",
        "expected sequence start" => "a list belongs here: write `- VALUE` below it, or `[VALUE]`",
        "unexpected value for unit enum variant" => "it takes no fields: write its name alone",
        "invalid floating point" => "write a number",
        "invalid u16" if of_count => return Some(format!("write a whole number from 1 to {MOST_HOSTS}")),
        "invalid u8" => "write a whole number from 0 to 255",
        "invalid u16" => "write a whole number from 0 to 65535",
        "invalid u32" => "write a whole number from 0 to 4294967295",
        "invalid u64" => "write a whole number from 0 to 18446744073709551615",
        "invalid socket address syntax" => "write ADDRESS:PORT with an IP address, such as 127.0.0.1:8000",
        "invalid IP address syntax" => "write an IP address, such as 127.1.0.1",
        _ => return None,
    };
    Some(text.to_owned())
}

/// The key that a block has two times.
fn said_twice(reason: &str) -> Option<&str> {
    let (key, _) = reason.strip_prefix("duplicate mapping key: ")?.split_once(',')?;
    Some(key)
}

/// A path without the `value` of what knows its own place, which no file has.
fn as_written(path: &str) -> String {
    let path = path.replace(".value[", "[").replace(".value.", ".");
    match path.strip_suffix(".value") {
        Some(rest) if !rest.ends_with("json-set") => rest.to_owned(),
        Some(_) | None => path,
    }
}
