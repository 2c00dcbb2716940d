//! The host of a plan, whose BMC is reached through the stage.
#![allow(
    clippy::indexing_slicing,
    reason = "there is one host, and what is indexed was built here"
)]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use bmc_simulator::Delays;
use serde_json::{Value, json};
use world::escalation::never_boots;
use world::fault::stage::Stage;
use world::front::ipmi::IpmiFront;
use world::front::redfish::RedfishFront;
use world::{HostOptions, cluster_api, metal3, nodeless};

use super::{CLUSTER, Scenario};

/// A proxy in front of the BMC of a host, as long as it is needed.
pub(crate) enum BmcFront {
    Redfish(Arc<RedfishFront>),
    Ipmi { _front: Arc<IpmiFront> },
}

impl BmcFront {
    /// The address at which a BMC is reached through it.
    pub(super) fn instead_of(&self, address: &str) -> String {
        match self {
            Self::Redfish(front) => behind(front, address),
            Self::Ipmi { .. } => address.to_owned(),
        }
    }
}

fn behind(front: &RedfishFront, address: &str) -> String {
    let address = address.trim_start_matches("redfish+");
    let (url, path) = address.split_at(address.find("/redfish").unwrap_or_default());
    format!("redfish+{}{path}", front.instead_of(url))
}

fn quick() -> Delays {
    Delays {
        off: Duration::from_millis(200).into(),
        on: Duration::from_millis(200).into(),
        boot: Duration::from_millis(500).into(),
        ..Delays::default()
    }
}

impl Scenario {
    pub(in super::super) async fn host(self, stage: &Arc<Stage>) -> Result<(HostOptions, Option<BmcFront>)> {
        let options = match self {
            Self::Taint | Self::NodeDeletion | Self::NodeLease | Self::Escalation => HostOptions::default(),
            Self::Ipmi => HostOptions::over_ipmi(),
            Self::Nodeless => nodeless::never_joined(),
            Self::Workload => cluster_api::options(CLUSTER),
            Self::Metal3 | Self::Metal3LetsGo | Self::Reset => metal3::options(),
        };
        let options = HostOptions {
            delays: quick(),
            ..options
        };
        let options = if self == Self::Escalation {
            never_boots(options)
        } else {
            options
        };
        if self == Self::Metal3 {
            // Ironic and the daemon are told the same address: their requests could not be told apart.
            Ok((options, None))
        } else if self == Self::Ipmi {
            let front = Arc::new(IpmiFront::start(Arc::clone(stage)).await?);
            let options = behind_ipmi(options, &front);
            Ok((options, Some(BmcFront::Ipmi { _front: front })))
        } else {
            let front = Arc::new(RedfishFront::start(Arc::clone(stage)).await?);
            let options = behind_redfish(options, &front);
            Ok((options, Some(BmcFront::Redfish(front))))
        }
    }
}

fn behind_redfish(options: HostOptions, front: &Arc<RedfishFront>) -> HostOptions {
    let (ca, front) = (front.ca_pem.clone(), Arc::clone(front));
    HostOptions {
        secret: Box::new(move |mut secret| {
            secret["ca.crt"] = json!(ca);
            secret
        }),
        endpoint: with_address(options.endpoint, move |address| behind(&front, address)),
        ..options
    }
}

fn behind_ipmi(options: HostOptions, front: &Arc<IpmiFront>) -> HostOptions {
    let front = Arc::clone(front);
    HostOptions {
        endpoint: with_address(options.endpoint, move |address| {
            let bmc: Option<SocketAddr> = address.trim_start_matches("ipmi://").parse().ok();
            let instead = bmc.map(|bmc| front.instead_of(bmc).to_string());
            format!("ipmi://{}", instead.unwrap_or_default())
        }),
        ..options
    }
}

/// Another address of the BMC, where there is a BMCEndpoint.
fn with_address(
    endpoint: Box<dyn Fn(Value) -> Value + Send + Sync>,
    instead: impl Fn(&str) -> String + Send + Sync + 'static,
) -> Box<dyn Fn(Value) -> Value + Send + Sync> {
    Box::new(move |stated| {
        let mut endpoint = endpoint(stated);
        if let Some(address) = endpoint["address"].as_str() {
            endpoint["address"] = json!(instead(address));
        }
        endpoint
    })
}
