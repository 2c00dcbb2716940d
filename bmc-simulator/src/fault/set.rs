//! The faults in force on one BMC.

use super::effect::{Aftermath, Answer, Effect};
use super::{Fault, Injection, IpmiEffect};
use crate::RequestClass;
use crate::power::{Behaviour, OffHandling};

/// Faults in force, in the order they were injected; the first that applies wins.
#[derive(Debug, Default)]
pub(crate) struct FaultSet {
    active: Vec<Injection>,
}

impl FaultSet {
    pub(crate) fn add(&mut self, mut injection: Injection) {
        if injection.fault == Fault::DropAfterExecute && injection.on.is_none() {
            injection.on = Some(RequestClass::Reset);
        }
        self.active.push(injection);
    }

    pub(crate) fn clear(&mut self) {
        self.active.clear();
    }

    pub(crate) fn list(&self) -> Vec<Injection> {
        self.active.clone()
    }

    pub(crate) fn has(&self, fault: &Fault) -> bool {
        self.active.iter().any(|injection| injection.fault == *fault)
    }

    /// What the faults mean to the machine.
    pub(crate) fn behaviour(&self) -> Behaviour {
        let offs = if self.has(&Fault::LieOffWhileOn) {
            OffHandling::Ignored
        } else if self.has(&Fault::StuckPoweringOff) {
            OffHandling::Stuck
        } else {
            OffHandling::Normal
        };
        Behaviour {
            offs,
            ignore_commands: self.has(&Fault::AcceptAndIgnore),
            lose_on_while_powering_off: self.has(&Fault::LoseOnWhilePoweringOff),
            powers_on_by_itself: self.find(|fault| {
                if let Fault::PowersOnByItself { after } = fault {
                    Some(*after)
                } else {
                    None
                }
            }),
        }
    }

    /// The word to report when the machine's own is `honest`; absent = null.
    pub(crate) fn reported(&self, honest: &str) -> Option<String> {
        let literal = self.find(|fault| {
            if let Fault::ReportLiteral(literal) = fault {
                Some(literal.clone())
            } else {
                None
            }
        });
        let lie = self.has(&Fault::LieOffWhileOn);
        literal.unwrap_or_else(|| Some(if lie { "Off" } else { honest }.to_owned()))
    }

    /// The answer to give in place of the real one.
    pub(crate) fn take_answer(&mut self, class: RequestClass) -> Option<(&'static str, Answer)> {
        self.take(class, |effect| {
            if let Effect::Answer(answer) = effect {
                Some(answer)
            } else {
                None
            }
        })
    }

    /// What to do to the real answer.
    pub(crate) fn take_aftermath(&mut self, class: RequestClass) -> Option<(&'static str, Aftermath)> {
        self.take(class, |effect| {
            if let Effect::Aftermath(what) = effect {
                Some(what)
            } else {
                None
            }
        })
    }

    /// Whether this request's credentials are refused whatever they are.
    pub(crate) fn take_rejection(&mut self, class: RequestClass) -> bool {
        self.take(class, |effect| (effect == Effect::Login).then_some(()))
            .is_some()
    }

    /// Whether a reset to the present state is refused.
    pub(crate) fn take_conflict(&mut self) -> bool {
        self.take(RequestClass::Reset, |effect| {
            (effect == Effect::Conflict).then_some(())
        })
        .is_some()
    }

    /// What is done to a request over IPMI, of what is wanted.
    pub(crate) fn take_ipmi<T>(
        &mut self,
        class: RequestClass,
        wanted: impl Fn(IpmiEffect) -> Option<T>,
    ) -> Option<(&'static str, T)> {
        self.take(class, |effect| {
            if let Effect::Ipmi(effect) = effect {
                wanted(effect)
            } else {
                None
            }
        })
    }

    fn find<T>(&self, wanted: impl Fn(&Fault) -> Option<T>) -> Option<T> {
        self.active.iter().find_map(|injection| wanted(&injection.fault))
    }

    /// The first fault that is wanted and selects `class`; uses up one of its times.
    fn take<T>(
        &mut self,
        class: RequestClass,
        wanted: impl Fn(Effect) -> Option<T>,
    ) -> Option<(&'static str, T)> {
        let (index, found) = self.active.iter().enumerate().find_map(|(index, injection)| {
            let selected = injection.on.is_none_or(|on| on == class);
            let found = if selected {
                wanted(injection.fault.effect())
            } else {
                None
            };
            found.map(|value| (index, (injection.fault.name(), value)))
        })?;
        if let Some(injection) = self.active.get_mut(index) {
            injection.times = injection.times.map(|times| times.saturating_sub(1));
            if injection.times == Some(0) {
                self.active.remove(index);
            }
        }
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::FaultSet;
    use crate::fault::Answer;
    use crate::{Fault, Injection, RequestClass};

    #[test]
    fn selects_by_class_and_runs_out() {
        let mut faults = FaultSet::default();
        faults.add(Fault::http_status(503).on(RequestClass::Reset).times(2));
        faults.add(Fault::Hang.into());
        let status = Answer::Status {
            status: 503,
            retry_after: None,
        };
        assert_eq!(
            faults.take_answer(RequestClass::SystemGet),
            Some(("hang", Answer::Hang))
        );
        assert_eq!(
            faults.take_answer(RequestClass::Reset),
            Some(("http-status", status.clone()))
        );
        assert_eq!(
            faults.take_answer(RequestClass::Reset),
            Some(("http-status", status))
        );
        assert_eq!(
            faults.take_answer(RequestClass::Reset),
            Some(("hang", Answer::Hang))
        );
        assert_eq!(faults.list().len(), 1);
    }

    #[test]
    fn json_names_match_the_names_in_the_journal() {
        let all = [
            Fault::LieOffWhileOn,
            Fault::AcceptAndIgnore,
            Fault::StuckPoweringOff,
            Fault::ReportLiteral(None),
            Fault::HtmlInsteadOfJson,
            Fault::http_status(500),
            Fault::RejectCredentials,
            Fault::DropAfterExecute,
            Fault::Hang,
            Fault::Redirect {
                to: "https://x".to_owned(),
            },
            Fault::WrongUuid,
            Fault::NoSessionService,
            Fault::AlreadyThere409,
            Fault::TruncatedJson,
            Fault::LoseOnWhilePoweringOff,
            Fault::PowersOnByItself {
                after: std::time::Duration::from_secs(1),
            },
        ];
        for fault in all {
            let json = serde_json::to_value(&fault).unwrap();
            let name = json
                .as_str()
                .or_else(|| json.as_object()?.keys().next().map(String::as_str));
            assert_eq!(name, Some(fault.name()));
            let injection = Injection::from(fault);
            let text = serde_json::to_string(&injection).unwrap();
            assert_eq!(
                serde_json::from_str::<Injection>(&text).unwrap(),
                injection,
                "{text}"
            );
        }
    }

    #[test]
    fn refuses_what_could_have_no_effect() {
        for (injection, field) in [
            (Fault::LieOffWhileOn.on(RequestClass::Reset), "`on`"),
            (Fault::WrongUuid.times(1), "`times`"),
            (Fault::Hang.times(0), "`times`"),
            (Fault::http_status(99).into(), "`status`"),
            (
                Fault::Redirect {
                    to: "a\r\nb".to_owned(),
                }
                .into(),
                "`to`",
            ),
            (Fault::AlreadyThere409.on(RequestClass::SystemGet), "`on`"),
        ] {
            let error = injection.check().unwrap_err().to_string();
            assert!(error.contains(field), "{error}");
        }
        assert!(Fault::Hang.on(RequestClass::Reset).times(1).check().is_ok());
    }
}
