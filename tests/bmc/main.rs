//! Power control without a cluster: against simulated BMCs, and against BMCs, clients and TLS that we did not write.

mod bmc_command;
mod bmc_contract;
mod bmc_differential;
mod bmc_faults;
mod bmc_tls;
mod contract;
mod ipmi_contract;
mod ipmi_peers;
