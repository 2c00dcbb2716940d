//! Redfish: the validators of DMTF, and clients that people use.

mod bench;
mod clients;
mod power;
mod use_cases;
mod utilities;
mod validators;

use futures::FutureExt as _;

use crate::check::Check;

/// Every check of the Redfish side.
pub(crate) fn checks() -> Vec<Check> {
    vec![
        Check {
            tool: "rf_service_validator 3.1.8",
            body: || validators::service_plain().boxed(),
        },
        Check {
            tool: "rf_service_validator 3.1.8, all in use",
            body: || validators::service_in_use().boxed(),
        },
        Check {
            tool: "rf_service_validator 3.1.8, many machines",
            body: || validators::service_of_many().boxed(),
        },
        Check {
            tool: "rf_protocol_validator 1.3.2",
            body: || validators::protocol().boxed(),
        },
        Check {
            tool: "rf_protocol_validator 1.3.2, event stream",
            body: || validators::event_stream().boxed(),
        },
        Check {
            tool: "rf_protocol_validator 1.3.2, SSDP",
            body: || validators::ssdp().boxed(),
        },
        Check {
            tool: "rf_discover 3.5.2",
            body: || validators::discover().boxed(),
        },
        Check {
            tool: "rf_use_case_checkers 2.1.1, PowerControl",
            body: || use_cases::power_control().boxed(),
        },
        Check {
            tool: "rf_use_case_checkers 2.1.1, others",
            body: || use_cases::others().boxed(),
        },
        Check {
            tool: "redfishtool 1.1.8",
            body: || power::redfishtool().boxed(),
        },
        Check {
            tool: "rf_power_reset 3.5.2",
            body: || power::rf_power_reset().boxed(),
        },
        Check {
            tool: "rf_power_reset 3.5.2, resets as tasks",
            body: || power::rf_power_reset_tasks().boxed(),
        },
        Check {
            tool: "fence_redfish",
            body: || power::fence_redfish().boxed(),
        },
        Check {
            tool: "sushy 5.7.1",
            body: || clients::sushy().boxed(),
        },
        Check {
            tool: "rf_accounts 3.5.2",
            body: || utilities::accounts().boxed(),
        },
        Check {
            tool: "rf_sys_inventory, rf_manager_config 3.5.2",
            body: || utilities::inventory().boxed(),
        },
        Check {
            tool: "rf_event_service 3.5.2",
            body: || utilities::event_service().boxed(),
        },
    ]
}
