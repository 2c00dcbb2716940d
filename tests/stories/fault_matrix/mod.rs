//! Every fault at every call of the daemon, to the API server and to the BMC: the host goes off once and on once, it is
//! on in the end, and nothing is left behind.
//!
//! The calls of a scenario are learnt by running it without a fault, those of a successor by running the crash before it.
//! `make test` runs a fixed share of the plans that are made of them, `make fault-matrix` all.

mod crash_loop;
mod end;
mod matrix;
mod outages;
mod plans;
mod run;
mod scenario;

use anyhow::Result;
use world::pool::{self, Setting};

use matrix::{KINDS, Selection, Shares, is_wanted, run_scenario};
use scenario::Scenario;

const DAEMON: &str = env!("CARGO_BIN_EXE_baremetal-remediator");
/// Each plan has a daemon of its own that sees one namespace, under a policy that is the same for all.
static SETTING: Setting = Setting::shared("fault matrix").weighing(3).taking(100);
/// Where the namespace of medik8s' Leases is, every daemon takes them.
static WITH_LEASES: Setting = Setting::shared("fault matrix with Leases").weighing(2).taking(60);

/// Daemons that look at all Nodes take what others release for left behind. Here nobody releases anything.
static WITHOUT_NODES: Setting = Setting::shared("fault matrix without Nodes")
    .weighing(2)
    .taking(60);

/// metal3 is waited for.
static GIVEN_UP: Setting = Setting::shared("fault matrix").weighing(2).taking(200);

/// One of so many crashes is enough where the protocol is that of the main path.
const FEW: usize = 19;

/// Runs a scenario beside the main path: one of so many crashes, and another fault, of a kind that differs from scenario
/// to scenario, unless the environment says otherwise.
async fn matrix(scenario: Scenario, setting: &'static Setting, crashes: usize) -> Result<()> {
    if !is_wanted(scenario)? {
        return Ok(());
    }
    let kind = KINDS.iter().cycle().nth(scenario as usize);
    let shares = Shares {
        crashes: Selection::one_of(crashes)?,
        second: None,
        others: kind.map_or(&[][..], std::slice::from_ref),
    };
    run_scenario(scenario, &pool::lease(setting).await?, shares).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_happens_at_a_call_of_the_main_path_the_host_comes_back() -> world::Outcome {
    if !is_wanted(Scenario::Taint)? {
        return Ok(());
    }
    let shares = Shares {
        crashes: Selection::one_of(7)?,
        second: Some(Selection::upon(23)),
        others: &KINDS,
    };
    Ok(run_scenario(Scenario::Taint, &pool::lease(&SETTING).await?, shares).await?)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_happens_at_a_call_over_ipmi_the_host_comes_back() -> world::Outcome {
    Ok(matrix(Scenario::Ipmi, &SETTING, FEW).await?)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_happens_at_a_call_the_deleted_node_gets_back_what_it_had() -> world::Outcome {
    Ok(matrix(Scenario::NodeDeletion, &SETTING, FEW).await?)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_happens_at_a_call_a_host_without_a_node_joins() -> world::Outcome {
    Ok(matrix(Scenario::Nodeless, &WITHOUT_NODES, FEW).await?)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_happens_at_a_call_the_lease_of_the_node_is_given_back() -> world::Outcome {
    Ok(matrix(Scenario::NodeLease, &WITH_LEASES, FEW).await?)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_happens_at_a_call_to_a_workload_cluster_the_host_comes_back() -> world::Outcome {
    Ok(matrix(Scenario::Workload, &SETTING, FEW).await?)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_happens_at_a_call_metal3_has_its_host_back() -> world::Outcome {
    Ok(matrix(Scenario::Metal3, &SETTING, FEW).await?)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_happens_at_a_call_while_metal3_is_given_up_it_has_its_host_back() -> world::Outcome {
    Ok(matrix(Scenario::Metal3LetsGo, &GIVEN_UP, 3).await?)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_happens_at_a_call_a_host_that_must_stay_on_is_reset_once() -> world::Outcome {
    Ok(matrix(Scenario::Reset, &SETTING, 5).await?)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_happens_at_a_call_the_machine_is_replaced_once() -> world::Outcome {
    Ok(matrix(Scenario::Escalation, &SETTING, FEW).await?)
}
