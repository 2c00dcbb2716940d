//! BMC credentials out of a Secret.

mod binding;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;

pub use binding::{Binding, BindingError, FOR_ADDRESSES, FOR_FINGERPRINTS};
use zeroize::Zeroizing;

/// Longest user name or password, in bytes. Redfish services end at 127 or less.
const MAX_LENGTH: usize = 256;
/// Longest user name over IPMI, in bytes (IPMI 2.0, section 13.20).
const IPMI_NAME: usize = 16;
/// Longest password and KG over IPMI 2.0, in bytes (sections 22.30 and 22.25).
const IPMI_KEY: usize = 20;

/// A user name and password, for IPMI perhaps the key KG of the BMC, and the version of the Secret they came from.
/// Wiped when the last owner drops them; `Debug` shows none.
#[derive(Clone, PartialEq)]
pub struct Credentials {
    pub(crate) username: Zeroizing<String>,
    pub(crate) password: Zeroizing<String>,
    /// The BMC's own key KG (IPMI 2.0, section 13.31), 1 to 20 bytes.
    pub(crate) kg: Option<Zeroizing<Vec<u8>>>,
    /// `metadata.resourceVersion` of the Secret. A version that a BMC rejected once is not tried
    /// again, because BMCs lock accounts.
    pub version: String,
}

/// Why a Secret holds no usable credentials. Shows keys, never values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CredentialsError {
    /// No such key.
    #[error("the Secret has no key {0:?}. Add it; username and password are both needed.")]
    Missing(&'static str),
    /// Nothing but white space.
    #[error("the key {0:?} of the Secret is empty. Put a value there.")]
    Empty(&'static str),
    /// Not text.
    #[error("the key {0:?} of the Secret is not UTF-8 text. Store it as text.")]
    NotText(&'static str),
    /// Control characters inside, or a colon in the user name (RFC 7617, section 2).
    #[error(
        "the key {0:?} of the Secret holds a character that HTTP authentication cannot carry: a control character, or a colon in the user name. Change it."
    )]
    Characters(&'static str),
    /// More bytes than IPMI can carry.
    #[error(
        "the key {0:?} of the Secret is longer than {1} bytes, which is as much as IPMI carries. Give the BMC account a shorter one."
    )]
    TooLongForIpmi(&'static str, usize),
    /// A user name of IPMI is ASCII.
    #[error(
        "the key {0:?} of the Secret is not ASCII, and IPMI knows no other user names. Use another account."
    )]
    NotAscii(&'static str),
    /// A KG that cannot be one.
    #[error(
        "the key {0:?} of the Secret must be 1 to 20 bytes of text, or 0x and 1 to 20 bytes in hexadecimal. Correct or remove it."
    )]
    BadKg(&'static str),
    /// More than 256 bytes.
    #[error("the key {0:?} of the Secret is longer than 256 bytes. Check that it is the right Secret.")]
    TooLong(&'static str),
}

impl Credentials {
    /// Reads the keys `username` and `password`, and `kg` if it is there, trimming white space around them as
    /// metal3-io/baremetal-operator does (`pkg/hardwareutils/bmc/credentials.go`).
    pub fn from_secret<Bytes: AsRef<[u8]>>(
        data: &BTreeMap<String, Bytes>,
        version: impl Into<String>,
    ) -> Result<Self, CredentialsError> {
        let username = value(data, "username")?;
        if username.contains(':') {
            return Err(CredentialsError::Characters("username"));
        }
        Ok(Self {
            username,
            password: value(data, "password")?,
            kg: kg(data)?,
            version: version.into(),
        })
    }

    /// Whether IPMI can carry them.
    pub(crate) fn check_for_ipmi(&self) -> Result<(), CredentialsError> {
        for (text, key, limit) in [
            (&self.username, "username", IPMI_NAME),
            (&self.password, "password", IPMI_KEY),
        ] {
            if text.len() > limit {
                return Err(CredentialsError::TooLongForIpmi(key, limit));
            }
        }
        if !self.username.is_ascii() {
            return Err(CredentialsError::NotAscii("username"));
        }
        Ok(())
    }
}

/// Reads KG as ipmitool's `-k` and `-y` together do: text, or hexadecimal after `0x`.
fn kg<Bytes: AsRef<[u8]>>(
    data: &BTreeMap<String, Bytes>,
) -> Result<Option<Zeroizing<Vec<u8>>>, CredentialsError> {
    const KEY: &str = "kg";
    if !data.contains_key(KEY) {
        return Ok(None);
    }
    let text = value(data, KEY)?;
    let bytes = match text.strip_prefix("0x") {
        None => Some(Zeroizing::new(text.as_bytes().to_vec())),
        Some(digits) => hexadecimal(digits),
    };
    let bytes = bytes.filter(|bytes| (1..=IPMI_KEY).contains(&bytes.len()));
    bytes.map(Some).ok_or(CredentialsError::BadKg(KEY))
}

pub(crate) fn hexadecimal(digits: &str) -> Option<Zeroizing<Vec<u8>>> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(digits.len()));
    for pair in digits.as_bytes().chunks(2) {
        let [high, low] = pair else { return None };
        let digit = |byte: &u8| char::from(*byte).to_digit(16);
        bytes.push(u8::try_from((digit(high)? << 4) | digit(low)?).ok()?);
    }
    Some(bytes)
}

fn value<Bytes: AsRef<[u8]>>(
    data: &BTreeMap<String, Bytes>,
    key: &'static str,
) -> Result<Zeroizing<String>, CredentialsError> {
    let bytes = data.get(key).ok_or(CredentialsError::Missing(key))?;
    let text = std::str::from_utf8(bytes.as_ref())
        .map_err(|_| CredentialsError::NotText(key))?
        .trim();
    match text {
        "" => Err(CredentialsError::Empty(key)),
        text if text.len() > MAX_LENGTH => Err(CredentialsError::TooLong(key)),
        text if text.contains(char::is_control) => Err(CredentialsError::Characters(key)),
        text => Ok(Zeroizing::new(text.to_owned())),
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
