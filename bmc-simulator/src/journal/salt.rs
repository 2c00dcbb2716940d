//! Texts that stand for credentials.

use rustls::crypto::ring;
use sha2::{Digest as _, Sha256};

use super::Tried;
use crate::SimError;

/// The secret of one run. Without it nobody can try passwords against what the journal shows.
pub(crate) struct Salt([u8; 32]);

impl std::fmt::Debug for Salt {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not derived: whoever knows it can guess.
        formatter.write_str("Salt")
    }
}

impl Salt {
    /// A new one.
    ///
    /// # Errors
    /// [`SimError::Tls`] when the system has no random numbers.
    pub(crate) fn new() -> Result<Self, SimError> {
        let mut salt = [0; 32];
        let random = ring::default_provider().secure_random;
        random.fill(&mut salt).map_err(rustls::Error::from)?;
        Ok(Self(salt))
    }

    /// Stands for a user name.
    pub(crate) fn user(&self, name: &[u8]) -> String {
        self.text("user", name, &[])
    }

    /// Stands for a user name and a password.
    pub(crate) fn login(&self, name: &[u8], password: &[u8]) -> Tried {
        self.tried(name, "password", password)
    }

    /// Stands for a user name, asked for in an IPMI role, whose password the BMC did not come to ask for.
    pub(crate) fn name_only(&self, name: &[u8], role: u8) -> Tried {
        self.tried(name, "name", &[role])
    }

    /// Stands for a user name with any password that is not the right one.
    pub(crate) fn wrong_password(&self, name: &[u8]) -> Tried {
        self.tried(name, "wrong", &[])
    }

    fn tried(&self, name: &[u8], kind: &str, password: &[u8]) -> Tried {
        Tried {
            user: self.user(name),
            credentials: self.text(kind, name, password),
        }
    }

    fn text(&self, kind: &str, name: &[u8], password: &[u8]) -> String {
        let mut digest = Sha256::new();
        digest.update(self.0);
        // Each with its length, or `ab` + `c` were `a` + `bc`.
        for part in [kind.as_bytes(), name, password] {
            digest.update(part.len().to_le_bytes());
            digest.update(part);
        }
        let text = format!("{:x}", digest.finalize());
        text.get(..16).unwrap_or(&text).to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::Salt;

    #[test]
    fn equal_credentials_are_equal_within_a_run_only() {
        let (salt, other) = (Salt::new().unwrap(), Salt::new().unwrap());
        assert_eq!(salt.login(b"a", b"b"), salt.login(b"a", b"b"));
        assert_ne!(salt.login(b"a", b"b"), other.login(b"a", b"b"));
        assert_ne!(
            salt.login(b"ab", b"c").credentials,
            salt.login(b"a", b"bc").credentials
        );
        assert_eq!(salt.login(b"a", b"b").user, salt.wrong_password(b"a").user);
        let all = [
            salt.login(b"a", b""),
            salt.name_only(b"a", 4),
            salt.wrong_password(b"a"),
        ];
        assert!(
            all[0].credentials != all[1].credentials && all[1].credentials != all[2].credentials,
            "{all:?}"
        );
    }
}
