//! Secrets in the clothes in which programs repeat what they were sent: escaped for JSON, HTML or an URL, or
//! in Base64.

#[cfg(test)]
mod tests;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Shorter secrets are not looked for in Base64, where a few letters turn up by chance.
const FEWEST_BYTES: usize = 4;
/// How often a text may have been escaped, one time over the other.
const LAYERS: usize = 3;

const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Whether a text holds this secret in disguise.
pub(super) fn hides(text: &str, secret: &str) -> bool {
    let secret = secret.as_bytes();
    let mut layer = text.as_bytes().to_vec();
    for _ in 0..LAYERS {
        if secret.len() >= FEWEST_BYTES && hides_in_base64(&layer, secret) {
            return true;
        }
        let below = unescaped(&layer);
        if below == layer {
            return false;
        }
        if contains(&below, secret) {
            return true;
        }
        layer = below;
    }
    false
}

fn contains(text: &[u8], secret: &[u8]) -> bool {
    !secret.is_empty() && text.windows(secret.len()).any(|window| window == secret)
}

/// Whether the secret is a part of anything in Base64, in either alphabet, wherever that begins.
fn hides_in_base64(text: &[u8], secret: &[u8]) -> bool {
    let letter = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte);
    text.split(|byte| !letter(byte)).any(|run| {
        let run: Vec<u8> = run.iter().map(|byte| standard(*byte)).collect();
        (0..4).any(|begin| {
            let coded = run.get(begin..).unwrap_or_default();
            // A single letter at the end is none of it.
            let whole = coded.len().saturating_sub(usize::from(coded.len() % 4 == 1));
            let plain = LENIENT.decode(coded.get(..whole).unwrap_or_default());
            plain.is_ok_and(|plain| contains(&plain, secret) || contains(&unescaped(&plain), secret))
        })
    })
}

fn standard(letter: u8) -> u8 {
    match letter {
        b'-' => b'+',
        b'_' => b'/',
        other => other,
    }
}

/// The text with one layer of escapes taken off.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let found = match first {
            b'%' => hexadecimal(after, 2),
            b'\\' => after_backslash(after),
            b'&' => entity(after),
            _ => None,
        };
        rest = match found {
            Some((character, length)) => {
                // Of an URL each byte is escaped, of anything else a character.
                match u8::try_from(u32::from(character)) {
                    Ok(byte) if *first == b'%' || byte.is_ascii() => plain.push(byte),
                    _ => plain.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
                }
                after.get(length..).unwrap_or_default()
            }
            None => {
                plain.push(*first);
                after
            }
        };
    }
    plain
}

/// The character of so many hexadecimal digits, and how many bytes it took.
fn hexadecimal(text: &[u8], digits: usize) -> Option<(char, usize)> {
    let digits_read = text
        .get(..digits)
        .filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
    let number = u32::from_str_radix(std::str::from_utf8(digits_read).ok()?, 16).ok()?;
    Some((char::from_u32(number)?, digits))
}

fn after_backslash(text: &[u8]) -> Option<(char, usize)> {
    let (first, after) = text.split_first()?;
    let digits = match first {
        b'u' => 4,
        b'x' => 2,
        other => return other.is_ascii_punctuation().then_some((char::from(*other), 1)),
    };
    let (character, length) = hexadecimal(after, digits)?;
    Some((character, length.checked_add(1)?))
}

fn entity(text: &[u8]) -> Option<(char, usize)> {
    let end = text.iter().take(10).position(|byte| *byte == b';')?;
    let name = std::str::from_utf8(text.get(..end)?).ok()?;
    let character = match name {
        "quot" => '"',
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "apos" => '\'',
        number => {
            let number = number.strip_prefix('#')?;
            let number = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(number)?
        }
    };
    Some((character, end.checked_add(1)?))
}
