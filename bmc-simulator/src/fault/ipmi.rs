//! Whether a fault could have an effect on the protocol that it is for.

use super::effect::{Effect, IpmiEffect, ReplyFault};
use super::{Fault, Injection};
use crate::{RequestClass, SimError};

impl Injection {
    /// A fault of one protocol cannot hit requests of the other; the rest is about single fields.
    pub(super) fn check_protocol(&self) -> Result<(), SimError> {
        let Some(on) = self.on else {
            return self.check_ipmi();
        };
        let fits = match self.fault.effect() {
            Effect::Lasting | Effect::Conflict | Effect::Connection(_) | Effect::TooSoon(_) => true,
            Effect::Answer(_) | Effect::Aftermath(_) | Effect::Reuse => !on.is_ipmi(),
            Effect::Reboot => true,
            // Over IPMI a login is RAKP Message 1.
            Effect::Login => !on.is_ipmi() || on == RequestClass::IpmiRakp1,
            Effect::Ipmi(effect) => suits(effect, on),
        };
        if fits {
            return self.check_ipmi();
        }
        Err(self.refusal(
            "on",
            "this fault cannot hit such requests: name a class that it is for, or leave the field out",
        ))
    }

    fn check_ipmi(&self) -> Result<(), SimError> {
        if let Fault::IpmiRefuseSuite { status: 0, .. } = &self.fault {
            return Err(self.refusal("status", "0 would be no refusal: write 1 to 255"));
        }
        if let Fault::IpmiIgnoreCommand { net_fn, .. } = &self.fault
            && (*net_fn > 62 || *net_fn % 2 != 0)
        {
            return Err(self.refusal(
                "netFn",
                "not the network function of a request: write an even number from 0 to 62",
            ));
        }
        if let Fault::IpmiDelayReply { by } = &self.fault
            && by.is_zero()
        {
            return Err(self.refusal("by", "no delay would mean no fault: write a duration above zero"));
        }
        Ok(())
    }
}

fn suits(effect: IpmiEffect, on: RequestClass) -> bool {
    match effect {
        IpmiEffect::RefuseSuite { .. } | IpmiEffect::Exhausted => on == RequestClass::IpmiOpenSession,
        IpmiEffect::Busy
        | IpmiEffect::WrongRqSeq
        | IpmiEffect::Ignore { .. }
        | IpmiEffect::Reply(ReplyFault::Stale) => on.is_ipmi_command(),
        IpmiEffect::LoseRequest | IpmiEffect::Reply(_) => on.is_ipmi(),
    }
}
