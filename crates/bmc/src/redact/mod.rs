//! Makes text that came from a BMC fit to be shown: short, printable, and without our secrets,
//! which a careless or hostile BMC may echo.

mod disguise;
#[cfg(test)]
mod tests;

use base64::Engine as _;
use zeroize::Zeroizing;

use super::credentials::Credentials;

/// Longest text of a BMC that is kept, in characters.
const MAX_TEXT: usize = 300;
/// Shortest piece of a text that is searched, in characters, and how many of the longest secret have room in
/// it. Whatever is redacted of so many, more than [`MAX_TEXT`] characters are left before the piece ends, so
/// that a secret which is cut in half there is not shown.
const SEARCHED: (usize, usize) = (4096, 64);
/// What stands where a secret stood.
const MARK: &str = "[redacted]";

/// The secrets of one BMC, to be removed from everything that is shown.
pub(super) struct Redactor {
    secrets: Vec<Zeroizing<String>>,
}

impl Redactor {
    /// Knows the password as it is, and as HTTP Basic sends it.
    pub(super) fn new(credentials: &Credentials) -> Self {
        Self {
            secrets: vec![credentials.password.clone(), basic_token(credentials)],
        }
    }

    /// Adds a session token.
    pub(super) fn add(&mut self, secret: &str) {
        if !secret.is_empty() {
            self.secrets.push(Zeroizing::new(secret.to_owned()));
        }
    }

    /// Forgets the session tokens.
    pub(super) fn forget_added(&mut self) {
        self.secrets.truncate(2);
    }

    /// Whether the text holds a secret, plain or in disguise.
    pub(super) fn spots(&self, text: &str) -> bool {
        let mut secrets = self.secrets.iter();
        secrets.any(|secret| text.contains(secret.as_str()) || disguise::hides(text, secret))
    }

    /// Redacts, makes printable and shortens, in this order: a secret cut in half by the
    /// shortening would not be recognised. Of a text that holds a secret in disguise nothing is shown.
    pub(super) fn clean(&self, text: &str) -> String {
        self.shorten(text, MAX_TEXT)
    }

    /// As [`Self::clean`], to at most `limit` characters.
    pub(super) fn shorten(&self, text: &str, limit: usize) -> String {
        let longest = self.secrets.iter().map(|secret| secret.len()).max();
        let piece = longest.unwrap_or_default().saturating_mul(SEARCHED.1);
        let mut text: String = text.chars().take(piece.max(SEARCHED.0)).collect();
        for secret in &self.secrets {
            text = text.replace(secret.as_str(), MARK);
        }
        if self.secrets.iter().any(|secret| disguise::hides(&text, secret)) {
            MARK.clone_into(&mut text);
        }
        let printable = |character: char| if character.is_control() { ' ' } else { character };
        text.trim().chars().take(limit).map(printable).collect()
    }
}

/// The credentials as HTTP Basic carries them (RFC 7617), without the scheme.
pub(super) fn basic_token(credentials: &Credentials) -> Zeroizing<String> {
    let pair = Zeroizing::new(format!("{}:{}", *credentials.username, *credentials.password));
    Zeroizing::new(base64::engine::general_purpose::STANDARD.encode(pair.as_bytes()))
}
