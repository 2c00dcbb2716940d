//! BMC credentials out of a Secret.

use std::collections::BTreeMap;
use std::fmt;

use zeroize::Zeroizing;

/// Longest user name or password, in bytes. IPMI ends at 20, Redfish services at 127 or less.
const MAX_LENGTH: usize = 256;

/// A user name and password, and the version of the Secret they came from.
///
/// The password is wiped when the last owner drops it, and `Debug` shows neither.
#[derive(Clone, PartialEq)]
pub struct Credentials {
    username: Zeroizing<String>,
    password: Zeroizing<String>,
    /// `metadata.resourceVersion` of the Secret. A version that a BMC rejected once is not tried
    /// again, because BMCs lock accounts.
    pub version: String,
}

/// Why a Secret holds no usable credentials. Shows keys, never values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CredentialsError {
    /// No such key.
    #[error("the Secret has no key {key:?}. Add it; username and password are both needed.")]
    Missing {
        /// The key.
        key: &'static str,
    },
    /// Nothing but white space.
    #[error("the key {key:?} of the Secret is empty. Put a value there.")]
    Empty {
        /// The key.
        key: &'static str,
    },
    /// Not text.
    #[error("the key {key:?} of the Secret is not UTF-8 text. Store it as text.")]
    NotText {
        /// The key.
        key: &'static str,
    },
    /// Control characters inside, or a colon in the user name (RFC 7617, section 2).
    #[error(
        "the key {key:?} of the Secret holds a character that HTTP authentication cannot carry: a control character, or a colon in the user name. Change it."
    )]
    Characters {
        /// The key.
        key: &'static str,
    },
    /// More than 256 bytes.
    #[error("the key {key:?} of the Secret is longer than 256 bytes. Check that it is the right Secret.")]
    TooLong {
        /// The key.
        key: &'static str,
    },
}

impl Credentials {
    /// Reads the keys `username` and `password`, trimming white space around both as
    /// metal3-io/baremetal-operator does (`pkg/hardwareutils/bmc/credentials.go`).
    ///
    /// # Errors
    /// [`CredentialsError`] names the key.
    pub fn from_secret<Bytes: AsRef<[u8]>>(
        data: &BTreeMap<String, Bytes>,
        version: impl Into<String>,
    ) -> Result<Self, CredentialsError> {
        let username = value(data, "username")?;
        if username.contains(':') {
            return Err(CredentialsError::Characters { key: "username" });
        }
        Ok(Self {
            username,
            password: value(data, "password")?,
            version: version.into(),
        })
    }

    pub(crate) fn username(&self) -> &str {
        &self.username
    }

    pub(crate) fn password(&self) -> &str {
        &self.password
    }
}

fn value<Bytes: AsRef<[u8]>>(
    data: &BTreeMap<String, Bytes>,
    key: &'static str,
) -> Result<Zeroizing<String>, CredentialsError> {
    let bytes = data.get(key).ok_or(CredentialsError::Missing { key })?;
    let text = std::str::from_utf8(bytes.as_ref())
        .map_err(|_| CredentialsError::NotText { key })?
        .trim();
    if text.is_empty() {
        Err(CredentialsError::Empty { key })
    } else if text.len() > MAX_LENGTH {
        Err(CredentialsError::TooLong { key })
    } else if text.contains(char::is_control) {
        Err(CredentialsError::Characters { key })
    } else {
        Ok(Zeroizing::new(text.to_owned()))
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Credentials")
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &[u8])]) -> Result<Credentials, CredentialsError> {
        let data = pairs
            .iter()
            .map(|(key, bytes)| ((*key).to_owned(), bytes.to_vec()))
            .collect();
        Credentials::from_secret(&data, "7")
    }

    #[test]
    fn both_keys_are_needed_and_trimmed() {
        let credentials = read(&[("username", b" root\n"), ("password", b"\tcanary word \r\n")]).unwrap();
        assert_eq!(
            (credentials.username(), credentials.password()),
            ("root", "canary word")
        );
        assert!(!format!("{credentials:?}").contains("canary"));
    }

    #[test]
    fn errors_name_the_key_and_not_the_value() {
        let good: (&str, &[u8]) = ("username", b"root");
        let long = [b'x'; 257];
        for (pairs, expected) in [
            (vec![], CredentialsError::Missing { key: "username" }),
            (vec![good], CredentialsError::Missing { key: "password" }),
            (
                vec![good, ("password", b" \n" as &[u8])],
                CredentialsError::Empty { key: "password" },
            ),
            (
                vec![good, ("password", b"canary\xff")],
                CredentialsError::NotText { key: "password" },
            ),
            (
                vec![good, ("password", b"canary\ncanary")],
                CredentialsError::Characters { key: "password" },
            ),
            (
                vec![good, ("password", &long)],
                CredentialsError::TooLong { key: "password" },
            ),
            (
                vec![("username", b"a:b")],
                CredentialsError::Characters { key: "username" },
            ),
        ] {
            let error = read(&pairs).unwrap_err();
            assert_eq!(error, expected);
            let text = error.to_string();
            assert!(text.ends_with('.') && !text.contains("canary"), "{text}");
        }
    }
}
