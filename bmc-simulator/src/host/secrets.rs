//! Changing a BMC's login and certificate.

use super::Host;
use crate::SimError;
use crate::journal::{Ended, Event};
use crate::redfish;
use crate::spec::{Credentials, check_login};
use crate::tls::Authority;

impl Host {
    /// Changes the login and ends all sessions.
    ///
    /// # Errors
    /// [`SimError::InvalidHost`] with the field `username` or `password` when no client could send it: empty,
    /// with control characters, a user name with a colon, or with IPMI more than 16 or 20 bytes. Then
    /// nothing has changed.
    pub fn rotate_credentials(
        &self,
        username: impl Into<String>,
        password: impl Into<String>,
    ) -> Result<(), SimError> {
        let credentials = Credentials {
            username: username.into(),
            password: password.into(),
        };
        check_login(
            &credentials.username,
            Some(&credentials.password),
            self.core.ipmi_address.is_some(),
        )
        .map_err(|wrong| wrong.of_host(&self.core.name))?;
        self.core.act(|acting| {
            let users = [&acting.state.credentials, &credentials].map(|login| login.username.clone());
            acting.state.credentials = credentials;
            acting.state.redfish.own_login_replaced();
            acting.log_rotated(&users);
            redfish::end_sessions(acting, Ended::CredentialsRotated);
            acting.end_ipmi_sessions(Ended::CredentialsRotated);
        });
        Ok(())
    }

    /// Presents a certificate of a new, unknown authority from now on and closes all connections. While a fault
    /// says that the certificate has a defect, the new one has it, too.
    /// Returns its SHA-256 as [`certificate_sha256_fingerprint`](Self::certificate_sha256_fingerprint).
    ///
    /// # Errors
    /// [`SimError::Certificate`] or [`SimError::Tls`] when it cannot be made.
    pub fn swap_certificate(&self) -> Result<String, SimError> {
        let authority = Authority::new("another authority")?;
        let (address, name) = (self.core.address.ip(), &self.core.name);
        let proper = authority.issue(address, name, None)?;
        let sha256 = self.core.act(|acting| {
            let tls = &acting.core.tls;
            let defective = tls
                .defect()
                .map(|defect| Ok::<_, SimError>((defect, authority.issue(address, name, Some(defect))?)))
                .transpose()?;
            tls.swap(authority, proper, defective);
            let sha256 = tls.current().sha256;
            acting.log(Event::CertificateSwapped {
                sha256: sha256.clone(),
            });
            Ok::<_, SimError>(sha256)
        })?;
        self.core.close_connections();
        Ok(sha256)
    }
}
