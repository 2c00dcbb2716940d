//! What makes a family: everything in which it is not as the plain BMC of this simulator.

use crate::fault::Injection;
use crate::host::BootSequence;
use crate::ipmi::IpmiSpec;
use crate::power::Delay;
use crate::redfish::{RedfishSpec, ResetType, ServiceRootSpec};

/// One family.
pub(super) struct Family {
    /// Manufacturer and model.
    pub(super) product: (&'static str, &'static str),
    pub(super) system_id: &'static str,
    pub(super) chassis: &'static [&'static str],
    pub(super) redfish: fn(RedfishSpec) -> RedfishSpec,
    pub(super) faults: Vec<Injection>,
    /// Systems listed before the real one.
    pub(super) decoys: &'static [&'static str],
    pub(super) ipmi: fn(IpmiSpec) -> IpmiSpec,
    /// From an accepted power-off to off, and the same for on.
    pub(super) off_and_on: Option<(Delay, Delay)>,
    pub(super) bmc_boot: BootSequence,
}

impl Family {
    /// A family of which nothing is known but this.
    pub(super) fn plain(manufacturer: &'static str, model: &'static str) -> Self {
        Self {
            product: (manufacturer, model),
            system_id: "1",
            chassis: &["1"],
            redfish: |spec| spec,
            faults: Vec::new(),
            decoys: &[],
            ipmi: |spec| spec,
            off_and_on: None,
            bmc_boot: BootSequence::default(),
        }
    }
}

/// A service root that says this of its maker.
pub(super) fn root(vendor: &str, product: &str, oem: &str) -> ServiceRootSpec {
    ServiceRootSpec {
        vendor: Some(vendor.to_owned()),
        product: Some(product.to_owned()),
        oem: Some(oem.to_owned()),
        ..ServiceRootSpec::default()
    }
}

/// The usual reset types and the button, without these.
pub(super) fn all_but(missing: &[ResetType]) -> Vec<ResetType> {
    let all = ResetType::USUAL.into_iter().chain([ResetType::PushPowerButton]);
    all.filter(|one| !missing.contains(one)).collect()
}
