//! Clients of others that speak IPMI.

mod bench;
mod crates;
mod fence;
mod fleet;
mod freeipmi;
mod ipmitool;
mod pyghmi;
mod under_faults;

use crate::check::Check;

/// The checks, in the order of the table.
pub(crate) fn checks() -> Vec<Check> {
    vec![
        Check {
            tool: "ipmitool 1.8.19, suite 3",
            body: || Box::pin(ipmitool::suite_3()),
        },
        Check {
            tool: "ipmitool 1.8.19, suite 17",
            body: || Box::pin(ipmitool::suite_17()),
        },
        Check {
            tool: "ipmitool 1.8.19, suite of its choice",
            body: || Box::pin(ipmitool::own_choice()),
        },
        Check {
            tool: "ipmitool 1.8.19, logins",
            body: || Box::pin(ipmitool::logins()),
        },
        Check {
            tool: "FreeIPMI 1.6 ipmipower, every suite",
            body: || Box::pin(freeipmi::every_suite()),
        },
        Check {
            tool: "FreeIPMI 1.6 ipmipower, power",
            body: || Box::pin(freeipmi::power()),
        },
        Check {
            tool: "FreeIPMI 1.6 bmc-info, ipmi-chassis, ping",
            body: || Box::pin(freeipmi::information()),
        },
        Check {
            tool: "FreeIPMI 1.6 ipmipower, 250 BMCs",
            body: || Box::pin(fleet::power()),
        },
        Check {
            tool: "pyghmi 1.6.19",
            body: || Box::pin(pyghmi::power()),
        },
        Check {
            tool: "fence_ipmilan 4.12",
            body: || Box::pin(fence::power()),
        },
        Check {
            tool: "crate ipmi-rs 0.6",
            body: || Box::pin(crates::ipmi_rs()),
        },
        Check {
            tool: "crate ipmi 0.1",
            body: || Box::pin(crates::ipmi()),
        },
        Check {
            tool: "crate ruipmi 0.6",
            body: || Box::pin(crates::ruipmi()),
        },
        Check {
            tool: "IPMI faults as tools of others see them",
            body: || Box::pin(under_faults::all()),
        },
    ]
}
