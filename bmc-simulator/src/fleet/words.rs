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

/// What is wrong within a block of fields, and what to write; other words come from there than from the
/// YAML library, for such a block goes over that of the defaults first.
pub(super) fn in_block(reason: &str) -> String {
    let misfit = ["invalid type", "invalid value", "missing field"];
    if !misfit.iter().any(|kind| reason.starts_with(kind)) {
        return reason.to_owned();
    }
    let wanted = reason.rsplit_once(", expected ").map_or("", |(_, wanted)| wanted);
    let same_as = match wanted {
        "a boolean" => "invalid boolean",
        "u8" => "invalid u8",
        "u16" => "invalid u16",
        "u32" => "invalid u32",
        "u64" | "usize" => "invalid u64",
        "a string" => "expected string scalar",
        "a sequence" => "expected sequence start",
        "a map" => "expected mapping start",
        "string or map" | "map with a single key" | "enum" => {
            return "a name belongs here: write one that the README lists, as text".to_owned();
        }
        of_fields if of_fields.starts_with("struct") => "expected mapping start",
        "" => reason,
        other => return format!("write {other}"),
    };
    expected("", same_as).unwrap_or_else(|| reason.to_owned())
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
