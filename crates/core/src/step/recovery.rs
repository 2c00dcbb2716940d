//! What must be settled before a remediation may end or vanish: what we put on the Node, or took from it.

use jiff::Timestamp;

use super::{Next, RECHECK, Step, after};
use crate::decision::{Act, Effect, Observation};
use crate::facts::{Node, NodeReport, Obstacle};
use crate::journal::{NodeOfSubject, Verb};
use crate::observed::Reading;
use crate::phase::{Phase, Reason};
use crate::proof;

impl Step<'_> {
    /// The remediation is being deleted and the host has power. What the Node is owed is waited for, not for ever.
    pub(super) fn leave(&mut self) -> Next {
        if self.journal.may_have_left_off() {
            let detail = "deleted before the host was seen On";
            return self.fail(&Obstacle::new(Reason::PowerOnNotConfirmed, detail));
        }
        if !self.owes_node() {
            return self.let_go();
        }
        let limit = self.strategy.deadlines.boot;
        self.enter(Phase::Booting, Reason::WaitingForNode, Some(limit));
        self.journal.message = "being deleted; waiting for the Node, to give it back what it had".to_owned();
        Next::Rest(self.deadline())
    }

    /// Whether the Node carries our taint, or lacks what it carried before we deleted it.
    pub(super) fn owes_node(&self) -> bool {
        self.node_with_our_taint().is_some() || self.has_saved_node()
    }

    pub(super) fn has_saved_node(&self) -> bool {
        let release = self.journal.release.as_ref();
        release.is_some_and(|release| release.saved_node.is_some())
    }

    /// Whether the Node is back: Ready after a reboot since the journalled attempt, and since the release. While a
    /// power-off stands, it has to go on reporting besides.
    pub(super) fn came_back(&self) -> bool {
        self.looks_back() && !self.only_looks_back()
    }

    /// Whether the Node may be Ready only because it is not known yet that its host has gone off.
    pub(super) fn only_looks_back(&self) -> bool {
        let intent = self.journal.intent.as_ref();
        let stands =
            intent.is_some_and(|intent| intent.verb == Verb::PowerOff && !self.nothing_was_sent(intent));
        self.looks_back() && (stands || self.may_still_be_off()) && !self.reports_on()
    }

    /// A Node whose host goes off stays Ready for a while. Whether one that looks back is, its reports tell, which are
    /// read beside what else there is to do.
    pub(super) fn ask_one_that_looks_back(&self, next: Next) -> Next {
        let asks = matches!(
            self.journal.phase,
            Phase::Pending | Phase::AwaitingConfirmation | Phase::Booting | Phase::Failed
        );
        let is_open = asks && self.leads() && self.only_looks_back();
        let Some(due) = self.next_report().filter(|_| is_open) else {
            return next;
        };
        // What fails again and again, at the BMC or at the API server, does not keep it from being read.
        let may_wait = |act: &Act| !matches!(act, Act::Effect(Effect::PowerOn { .. }));
        match next {
            Next::Rest(_) if due <= self.now => Next::observe(Observation::Report),
            Next::Act(act) if after(due, RECHECK) <= self.now && may_wait(&act) => {
                Next::observe(Observation::Report)
            }
            Next::Rest(_) | Next::Act(_) => next.or_at(due),
        }
    }

    /// Whether the kubelet has renewed its Lease after the last command of ours was over. The Lease is read live; what a
    /// cache says of heartbeats may be from before.
    fn reports_on(&self) -> bool {
        let mut reports = self.reports_since_over().into_iter().flatten();
        let Some(first) = reports.next() else {
            return false;
        };
        reports.any(|later| {
            let renewed = later.found.lease_renewed;
            renewed.is_some() && renewed != first.found.lease_renewed
        })
    }

    /// When the signs of life have to be read next, if that is foreseeable.
    fn next_report(&self) -> Option<Timestamp> {
        let over = self.over_at(self.journal.intent.as_ref()?)?;
        let last = self.reports_since_over()?.last();
        let due = last.map_or(over, |last| after(last.began, proof::quiet_window(&last.found)));
        let failed = self.facts.observed.report_failed;
        Some(failed.map_or(due, |failed| due.max(after(failed, RECHECK))))
    }

    fn reports_since_over(&self) -> Option<impl Iterator<Item = &Reading<NodeReport>>> {
        let over = self.over_at(self.journal.intent.as_ref()?)?;
        let reports = self.facts.observed.reports.iter();
        Some(reports.filter(move |read| read.began >= over))
    }

    /// Whether the Node is Ready with another boot than before the journalled attempt, and than before the release.
    fn looks_back(&self) -> bool {
        let subject = self.journal.subject.as_ref();
        subject.is_some_and(|subject| self.is_ready_but_not_with(subject.boot_before()))
            && (self.journal.release.is_none() || self.came_back_since_release())
    }

    /// Whether the Node is Ready after a reboot since its workloads were released.
    pub(super) fn came_back_since_release(&self) -> bool {
        let release = self.journal.release.as_ref();
        release.is_some_and(|release| self.is_ready_but_not_with(Some(&release.boot_id)))
    }

    fn is_ready_but_not_with(&self, earlier: Option<&str>) -> bool {
        let node = self.facts.objects.node.present();
        let (Some(subject), Some(node)) = (&self.journal.subject, node) else {
            return false;
        };
        let boot_id = node.boot_id.as_deref();
        let rebooted = boot_id.is_some_and(|boot_id| !boot_id.is_empty() && Some(boot_id) != earlier);
        let is_its = match &subject.node {
            NodeOfSubject::There(there) => node.name == there.name,
            NodeOfSubject::None { .. } => self.has_joined(node, subject),
        };
        is_its && node.is_ready() && rebooted
    }

    /// The next thing that a Node which is back is owed: its metadata, its workloads, an end of the signal.
    pub(super) fn next_debt(&mut self) -> Result<Option<Effect>, Obstacle> {
        match self.restore().or_else(|| self.untaint_effect()) {
            Some(effect) => Ok(Some(effect)),
            None => self.clear_signal(),
        }
    }

    /// Labels, annotations and taints of a Node that was deleted go back before it is used again.
    pub(super) fn restore(&mut self) -> Option<Effect> {
        let node = self.facts.objects.node.present()?;
        let saved_node = &mut self.journal.release.as_mut()?.saved_node;
        if self.facts.observed.node_restored.as_ref() == Some(&node.uid) {
            *saved_node = None;
        }
        saved_node.clone().map(|saved| Effect::RestoreNode {
            node: node.name.clone(),
            resource_version: node.resource_version.clone(),
            saved,
        })
    }

    fn node_with_our_taint(&self) -> Option<&Node> {
        let node = self.facts.objects.node.present();
        node.filter(|node| node.out_of_service.is_ours())
    }

    pub(super) fn untaint_effect(&self) -> Option<Effect> {
        let node = self.node_with_our_taint()?;
        Some(Effect::UntaintNode {
            node: node.name.clone(),
            resource_version: node.resource_version.clone(),
        })
    }

    pub(super) fn left_behind(&self) -> String {
        let mut left = String::new();
        if self.journal.may_have_left_off() {
            left.push_str("; the host may be off, and is powered on as soon as its BMC lets us");
        }
        if let Some(node) = self.node_with_our_taint() {
            left.push_str("; the out-of-service taint stays on Node ");
            left.push_str(&node.name);
            left.push_str(" until it is back Ready with a new boot ID");
        }
        left
    }
}
