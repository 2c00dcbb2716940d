//! What the policy says about who evaluates health checks.

use remediator_core::checker::activation::Activation;
use remediator_core::facts::Obstacle;
use remediator_core::machine_api::MachineApi;
use remediator_core::phase::Reason;

use crate::mhc::{Mode, Unserved};
use crate::report::conditions::{
    CLUSTER_API_HEALTH_CHECKER, HEALTH_CHECKER, HEALTH_CHECKS_SERVED, Statement,
};

/// What is to be said; nothing of an API of which nothing is known yet.
pub(crate) fn statements(
    mode: impl Fn(MachineApi) -> Option<Mode>,
    generation: Option<i64>,
) -> Vec<Statement> {
    let known = MachineApi::ALL
        .into_iter()
        .filter_map(|api| Some((api, mode(api)?)));
    let known: Vec<(MachineApi, Mode)> = known.collect();
    let mut statements: Vec<Statement> = known
        .iter()
        .map(|(api, mode)| checker(*api, &mode.activation, generation))
        .collect();
    if !known.is_empty() {
        let modes: Vec<&Mode> = known.iter().map(|(_, mode)| mode).collect();
        statements.push(served(&modes, generation));
    }
    statements
}

/// Whether our checker is active for an API.
fn checker(api: MachineApi, activation: &Activation, generation: Option<i64>) -> Statement {
    let kind = match api {
        MachineApi::OpenShift => HEALTH_CHECKER,
        MachineApi::ClusterApi => CLUSTER_API_HEALTH_CHECKER,
    };
    match activation {
        Activation::Active(why) | Activation::Alongside(why) => {
            Statement::verdict(kind, Ok((Reason::StandingIn, why.clone())), generation)
        }
        Activation::Inactive(why) if why.reason == Reason::PlatformControllerUnknown => {
            Statement::unknown(kind, why, generation)
        }
        Activation::Inactive(why) => Statement::verdict(kind, Err(why.clone()), generation),
    }
}

/// Whether somebody evaluates each health check that asks for power cycles.
fn served(modes: &[&Mode], generation: Option<i64>) -> Statement {
    let all = modes
        .iter()
        .fold(Unserved::default(), |all, mode| all.and(&mode.unserved));
    let obstacles = all.obstacles();
    if let Some(first) = obstacles.first() {
        let all: Vec<String> = obstacles.iter().map(Obstacle::for_people).collect();
        return Statement {
            message: all.join(" "),
            ..Statement::verdict(HEALTH_CHECKS_SERVED, Err(first.clone()), generation)
        };
    }
    if let Some(why) = all.unknown() {
        return Statement::unknown(HEALTH_CHECKS_SERVED, why, generation);
    }
    let all = "no health check that asks for power cycles is known to be evaluated by nobody";
    let served = Ok((Reason::HealthChecksServed, all.to_owned()));
    Statement::verdict(HEALTH_CHECKS_SERVED, served, generation)
}
