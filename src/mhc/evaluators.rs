//! What the policy says about who evaluates health checks.

use remediator_core::checker::standing::Standing;
use remediator_core::facts::Obstacle;
use remediator_core::machine_api::MachineApi;
use remediator_core::phase::Reason;

use crate::mhc::{Stance, Unserved};
use crate::report::conditions::{
    CLUSTER_API_HEALTH_CHECKER, HEALTH_CHECKER, HEALTH_CHECKS_SERVED, Statement,
};

/// What is to be said; nothing of an API of which nothing is known yet.
pub(crate) fn statements(
    stance: impl Fn(MachineApi) -> Option<Stance>,
    generation: Option<i64>,
) -> Vec<Statement> {
    let known = MachineApi::ALL
        .into_iter()
        .filter_map(|api| Some((api, stance(api)?)));
    let known: Vec<(MachineApi, Stance)> = known.collect();
    let mut statements: Vec<Statement> = known
        .iter()
        .map(|(api, stance)| checker(*api, &stance.standing, generation))
        .collect();
    if !known.is_empty() {
        let stances: Vec<&Stance> = known.iter().map(|(_, stance)| stance).collect();
        statements.push(served(&stances, generation));
    }
    statements
}

/// Whether our checker stands in for that of an API.
fn checker(api: MachineApi, standing: &Standing, generation: Option<i64>) -> Statement {
    let kind = match api {
        MachineApi::OpenShift => HEALTH_CHECKER,
        MachineApi::ClusterApi => CLUSTER_API_HEALTH_CHECKER,
    };
    match standing {
        Standing::In(why) | Standing::Beside(why) => {
            Statement::verdict(kind, Ok((Reason::StandingIn, why.clone())), generation)
        }
        Standing::Aside(why) if why.reason == Reason::PlatformControllerUnknown => {
            Statement::unknown(kind, why, generation)
        }
        Standing::Aside(why) => Statement::verdict(kind, Err(why.clone()), generation),
    }
}

/// Whether somebody evaluates each health check that asks for power cycles.
fn served(stances: &[&Stance], generation: Option<i64>) -> Statement {
    let all = stances
        .iter()
        .fold(Unserved::default(), |all, stance| all.and(&stance.unserved));
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
