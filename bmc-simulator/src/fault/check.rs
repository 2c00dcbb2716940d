//! Whether a fault could have an effect at all: so that no test passes because its fault never was.

use super::effect::{Aftermath, Answer, Effect};
use super::pattern::meets;
use super::{Fault, Injection, IpmiEffect, ReplyFault, Target};
use crate::{RequestClass, SimError, ipmi, redfish};

/// The offending field, and what to write instead.
pub(super) type Wrong = (&'static str, String);

pub(super) fn wrong<T>(field: &'static str, reason: &str) -> Result<T, Wrong> {
    Err((field, reason.to_owned()))
}

impl Fault {
    /// Whether a single request, or connection, of this kind can be hit by it.
    pub(super) fn can_hit(&self, class: RequestClass) -> bool {
        match self.effect() {
            Effect::Lasting | Effect::Machine => false,
            Effect::Connection(_) => class == RequestClass::Connect,
            Effect::Answer(Answer::SessionsFull) => class == RequestClass::SessionCreate,
            Effect::Reuse | Effect::Answer(_) | Effect::Drop | Effect::Aftermath(_) | Effect::Reboot => {
                class.is_http()
            }
            // The root is read without a login. Over IPMI a login is RAKP Message 1.
            Effect::Login => {
                class.is_http() && class != RequestClass::ServiceRoot || class == RequestClass::IpmiRakp1
            }
            Effect::Conflict | Effect::TooSoon(_) | Effect::Task(_) => class == RequestClass::Reset,
            Effect::Rewire(_) => class == RequestClass::Reset || class == RequestClass::IpmiChassisControl,
            Effect::Ipmi(effect) => can_hit_ipmi(effect, class),
        }
    }

    /// Whether it can do nothing to an answer that has no body.
    fn needs_a_body(&self) -> bool {
        if let Effect::Aftermath(aftermath) = self.effect() {
            aftermath.needs_a_body()
        } else {
            false
        }
    }
}

fn can_hit_ipmi(effect: IpmiEffect, class: RequestClass) -> bool {
    match effect {
        IpmiEffect::RefuseSuite { .. } | IpmiEffect::Exhausted => class == RequestClass::IpmiOpenSession,
        IpmiEffect::Busy
        | IpmiEffect::WrongRqSeq
        | IpmiEffect::BadChecksum
        | IpmiEffect::SkipSequence(_)
        | IpmiEffect::Reply(ReplyFault::Stale) => class.is_ipmi_command(),
        IpmiEffect::Ignore { net_fn, command } => class == ipmi::class_of(net_fn, command),
        IpmiEffect::LoseRequest | IpmiEffect::Reply(_) => class.is_ipmi(),
    }
}

impl Aftermath {
    fn needs_a_body(&self) -> bool {
        match self {
            Self::Truncate | Self::Dribble(_) | Self::Cut(_) | Self::Edit { .. } => true,
            Self::Delay(_) | Self::Status(_) | Self::Header { .. } => false,
        }
    }
}

impl Injection {
    /// Refuses what could have no effect at any host.
    ///
    /// # Errors
    /// [`SimError::InvalidFault`] with the field and what was expected there.
    pub(crate) fn check(&self) -> Result<(), SimError> {
        let checked = self
            .fault
            .check()
            .map_err(|(field, reason)| (field, reason.to_owned()))
            .and_then(|()| self.check_counts())
            .and_then(|()| self.check_requests());
        checked.map_err(|wrong| self.refusal(wrong))
    }

    /// Refuses what could have no effect at this host.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub(crate) fn check_at(&self, target: &Target) -> Result<(), SimError> {
        self.check()?;
        self.check_target(target).map_err(|wrong| self.refusal(wrong))
    }

    fn check_counts(&self) -> Result<(), Wrong> {
        if self.times == Some(0) {
            return wrong(
                "times",
                "zero requests would mean no fault: write 1 or more, or leave it out",
            );
        }
        if self.skip == Some(0) {
            return wrong("skip", "zero spares none: write 1 or more, or leave it out");
        }
        if self.window.is_some_and(|window| window.from >= window.until) {
            return wrong(
                "window",
                "it ends before it begins: let `until` be later than `from`",
            );
        }
        Ok(())
    }

    /// Whether what narrows it leaves any requests.
    fn check_requests(&self) -> Result<(), Wrong> {
        let effect = self.fault.effect();
        self.check_system(&effect)?;
        if effect == Effect::Lasting || effect == Effect::Machine {
            return self.check_lasting();
        }
        if let Some(on) = self.on
            && !self.fault.can_hit(on)
        {
            return Err(("on", self.expected_classes(on)));
        }
        self.check_method()?;
        self.check_path()?;
        self.check_together()
    }

    /// Whether it can be about one system.
    fn check_system(&self, effect: &Effect) -> Result<(), Wrong> {
        if self.system.is_none() || *effect == Effect::Machine {
            return Ok(());
        }
        let of_requests = *effect != Effect::Lasting && self.fault.can_hit(RequestClass::Reset);
        let on = self.on.unwrap_or(RequestClass::Reset);
        let of_system = [RequestClass::SystemGet, RequestClass::Reset, RequestClass::Other];
        if of_requests && of_system.contains(&on) {
            return Ok(());
        }
        wrong(
            "system",
            "what it hits is about no one system: leave the field out",
        )
    }

    fn check_lasting(&self) -> Result<(), Wrong> {
        let per_request = [
            ("on", self.on.is_some()),
            ("method", self.method.is_some()),
            ("path", self.path.is_some()),
            ("skip", self.skip.is_some()),
            ("times", self.times.is_some()),
            ("probability", self.probability.is_some()),
        ];
        match per_request.into_iter().find(|(_, given)| *given) {
            Some((field, _)) => wrong(
                field,
                "this fault is not about single requests: leave the field out, or use `window`",
            ),
            None => Ok(()),
        }
    }

    /// What it can be limited to, in a sentence.
    fn expected_classes(&self, on: RequestClass) -> String {
        let classes = RequestClass::ALL.into_iter();
        let fit: Vec<&str> = classes
            .filter(|class| self.fault.can_hit(*class))
            .map(RequestClass::as_str)
            .collect();
        let fit = fit.join("`, `");
        format!(
            "it cannot hit `{}`: write one of `{fit}`, or leave the field out",
            on.as_str()
        )
    }

    /// The one kind of request that it is limited to, said or not.
    fn class(&self) -> Option<RequestClass> {
        self.on.or(self.fault.usual_class())
    }

    /// Whether it can hit requests that have a method and a path.
    fn hits_http(&self) -> bool {
        match self.class() {
            Some(class) => class.is_http(),
            None => RequestClass::ALL
                .into_iter()
                .any(|class| class.is_http() && self.fault.can_hit(class)),
        }
    }

    fn check_method(&self) -> Result<(), Wrong> {
        let Some(method) = self.method.as_deref() else {
            return Ok(());
        };
        if !self.hits_http() {
            return wrong("method", "what it hits has no HTTP method: leave the field out");
        }
        if axum::http::Method::from_bytes(method.as_bytes()).is_err() {
            return wrong("method", "no HTTP method is so written: write one such as `GET`");
        }
        if method.eq_ignore_ascii_case("HEAD") && self.fault.needs_a_body() {
            return wrong(
                "method",
                "an answer to HEAD has no body to change: write another method",
            );
        }
        let methods = self.class().map(redfish::methods).unwrap_or_default();
        let fits = methods.is_empty() || methods.iter().any(|one| one.eq_ignore_ascii_case(method));
        if let (Some(class), false) = (self.class(), fits) {
            let expected = methods.join("` or `");
            let reason = format!(
                "a `{}` is a `{expected}`: write that, leave the field out, or write another `on`",
                class.as_str()
            );
            return Err(("method", reason));
        }
        Ok(())
    }

    fn check_path(&self) -> Result<(), Wrong> {
        let Some(pattern) = self.path.as_deref() else {
            return Ok(());
        };
        if !self.hits_http() {
            return wrong("path", "what it hits has no path: leave the field out");
        }
        let plain = |byte: u8| byte.is_ascii_graphic() && !b"?#".contains(&byte);
        if !pattern.starts_with(['/', '*']) || !pattern.bytes().all(plain) {
            return wrong(
                "path",
                "no path is so written: begin with `/` or `*`, write it in plain ASCII and without a query",
            );
        }
        let templates = self.class().map(redfish::templates).unwrap_or_default();
        let fits = templates.is_empty() || templates.iter().any(|template| meets(pattern, template));
        if let (Some(class), false) = (self.class(), fits) {
            let expected = templates.join("` or `").replace(redfish::SEGMENT, "*");
            let reason = format!(
                "a `{}` is at `{expected}`: write a pattern of that, leave the field out, or write another `on`",
                class.as_str()
            );
            return Err(("path", reason));
        }
        Ok(())
    }

    /// What only a path without a star tells.
    fn check_together(&self) -> Result<(), Wrong> {
        let Some(path) = self.path.as_deref().filter(|path| !path.contains('*')) else {
            return Ok(());
        };
        if self.fault.effect() == Effect::Login && redfish::is_public(path) {
            return wrong("path", "this is read without a login: write another path");
        }
        let asked = self
            .method
            .as_deref()
            .and_then(|method| redfish::class_of(&method.to_ascii_uppercase(), path));
        match (asked, self.class()) {
            (Some(asked), Some(class)) if asked != class => {
                let reason = format!(
                    "such a request is a `{}`: write that, or leave the field out",
                    asked.as_str()
                );
                Err(("on", reason))
            }
            (Some(asked), None) if !self.fault.can_hit(asked) => {
                wrong("path", "it cannot hit such a request: write another path")
            }
            (Some(_) | None, _) => Ok(()),
        }
    }

    fn refusal(&self, (field, reason): Wrong) -> SimError {
        SimError::InvalidFault {
            fault: self.fault.name(),
            field,
            reason,
        }
    }
}
