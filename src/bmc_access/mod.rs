//! A remediation's way to its BMC: login, allow-list, the session, and obstacles.
//!
//! A Secret is read ([`login`]), with a check for which BMCs it is, and held while it is in use (`secret_holds`).
//! [`journalled`] is the way that the journal has, [`cluster_networks`] are networks in which no BMC may be, and
//! [`rejected_credentials`] the versions of Secrets that a BMC did not take.

pub(crate) mod bmc_obstacle;
pub(crate) mod cluster_networks;
pub(crate) mod conversation;
pub(crate) mod host;
pub(crate) mod journalled;
pub(crate) mod login;
pub(crate) mod opening;
pub(crate) mod rejected_credentials;
mod secret_holds;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use kube::Client;
use remediator_api::remediation_policy::BmcRules;
use remediator_bmc::Bmcs;

use crate::bmc_access::cluster_networks::ClusterNetworks;
use crate::bmc_access::rejected_credentials::RejectedCredentials;
use crate::bmc_access::secret_holds::SecretHolds;
use crate::clock::Clock;
use crate::watch::caches::Caches;

/// What is needed to reach BMCs, and what was learned of them and of the Secrets that are offered to them.
pub(crate) struct BmcAccess {
    client: Client,
    clock: Clock,
    caches: Caches,
    networks: ClusterNetworks,
    pub(crate) bmcs: Bmcs,
    pub(crate) rejected: RejectedCredentials,
    holds: SecretHolds,
    /// Versions of Secrets that were read since [`BmcAccess::secrets_read`] was called last.
    secrets_read: Mutex<BTreeMap<String, String>>,
    /// The rules that were in force last.
    last_rules: Mutex<Option<BmcRules>>,
}

impl BmcAccess {
    pub(crate) fn new(client: Client, clock: Clock, caches: Caches, networks: ClusterNetworks) -> Self {
        Self {
            client,
            clock,
            caches,
            networks,
            bmcs: Bmcs::default(),
            rejected: RejectedCredentials::default(),
            holds: SecretHolds::default(),
            secrets_read: Mutex::default(),
            last_rules: Mutex::default(),
        }
    }

    /// The Secrets that were read since this was asked last.
    pub(crate) fn secrets_read(&self) -> BTreeMap<String, String> {
        let mut secrets = self.secrets_read.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *secrets)
    }
}
