//! Fleets that are described in a YAML file.

mod addresses;
mod error;
mod expand;
mod file;
mod machines;
mod places;
mod taken;
mod words;

pub use error::FleetError;

use std::net::SocketAddr;

use crate::spec::HostSpec;

/// Most hosts that a fleet may have.
pub const MOST_HOSTS: usize = 5_000;

/// A fleet, as a file describes it. The format is documented in the crate's README.
#[derive(Debug)]
pub struct Fleet {
    pub(crate) seed: Option<u64>,
    pub(crate) control: Option<SocketAddr>,
    pub(crate) one_port: Option<SocketAddr>,
    pub(crate) ssdp: bool,
    pub(crate) hosts: Vec<HostSpec>,
}

impl Fleet {
    /// Reads a fleet file.
    ///
    /// # Errors
    /// [`FleetError`] with line, field and what was expected there.
    pub fn from_yaml(text: &str) -> Result<Self, FleetError> {
        Self::read(text, None)
    }

    /// Reads a fleet file as if its `onePort` were this address, whatever it says itself.
    ///
    /// # Errors
    /// As [`from_yaml`](Self::from_yaml); also when something in it would have no effect behind one port.
    pub fn from_yaml_behind(text: &str, one_port: SocketAddr) -> Result<Self, FleetError> {
        Self::read(text, Some(one_port))
    }

    fn read(text: &str, one_port: Option<SocketAddr>) -> Result<Self, FleetError> {
        let mut path = String::new();
        let read = serde_saphyr::with_deserializer_from_str_with_options(text, yaml(), |deserializer| {
            serde_path_to_error::deserialize(deserializer).map_err(|error| {
                path = error.path().to_string();
                error.into_inner()
            })
        });
        let mut file: file::File = read.map_err(|error| FleetError::unreadable(&path, &error))?;
        file.one_port = one_port.or(file.one_port);
        expand::expand(&file, text)
    }

    /// The names of its hosts.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.hosts.iter().map(|host| host.name.as_str())
    }
}

/// Only `true` and `false` are booleans, as in YAML 1.2 (section 10.3.2): the `On` and `Off` of Redfish are
/// text wherever they stand.
fn yaml() -> serde_saphyr::Options {
    serde_saphyr::options! { strict_booleans: true }
}
