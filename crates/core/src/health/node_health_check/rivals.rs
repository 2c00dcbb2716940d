//! What MachineHealthChecks make of NodeHealthChecks: two detectors of one Node must not fight.

/// Condition type of the default MachineHealthCheck of OpenShift, which deletes spot instances that are about to
/// be taken away. Source: `internal/controller/mhc/checker.go`, `NodeConditionTerminating`.
pub const TERMINATING: &str = "Terminating";

/// The MachineHealthChecks of OpenShift in the whole cluster, whatever they select and ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rivals {
    /// None, or the API is not there.
    #[default]
    None,
    /// Only one, and it looks at nothing but [`TERMINATING`]: a Node that has this condition, whatever its
    /// status, is left to it and counts as healthy.
    TerminationHandler,
    /// Any other: every NodeHealthCheck is disabled.
    Others,
}

impl Rivals {
    /// Tells them by the types of the `unhealthyConditions` of each.
    pub fn of<'a, Types>(checks: impl IntoIterator<Item = Types>) -> Self
    where
        Types: IntoIterator<Item = &'a str>,
    {
        let mut checks = checks.into_iter();
        match (checks.next(), checks.next()) {
            (None, _) => Self::None,
            (Some(one), None) => {
                if one.into_iter().eq([TERMINATING]) {
                    Self::TerminationHandler
                } else {
                    Self::Others
                }
            }
            (Some(_), Some(_)) => Self::Others,
        }
    }
}
