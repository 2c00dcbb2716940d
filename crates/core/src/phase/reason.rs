//! The reasons, each with what a person can do.

/// Declares [`Reason`] with the sentence a person reads, so that no reason is without advice.
macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident => $advice:literal,)+) => {
        /// Why a remediation stands where it stands, or why a signal was not taken up. Closed: code
        /// that cannot name its reason does not compile.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Reason { $($(#[$doc])* $name,)+ }

        impl Reason {
            /// Every reason, for documentation and tests.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// The CamelCase name used in status, conditions and events.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)+ }
            }

            /// The reason of a name.
            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|reason| reason.as_str() == name)
            }

            /// One sentence that says what a person can do, or that nothing is needed.
            pub fn advice(self) -> &'static str {
                match self { $(Self::$name => $advice,)+ }
            }
        }
    };
}

impl Reason {
    /// Whether a person has paused what asks for the remediation, or what it is about. That lasts as long as they
    /// want, and no deadline runs meanwhile.
    pub fn is_pause(self) -> bool {
        [Self::PolicyPaused, Self::MachinePaused, Self::HealthCheckPaused].contains(&self)
    }

    /// Whether a brake of the policy holds up what is not begun yet.
    pub fn is_brake(self) -> bool {
        [
            Self::WaitingForBudget,
            Self::WatchingAfterStart,
            Self::TooManyUnhealthy,
            Self::TooManyFailed,
            Self::TooManyPowerCycles,
            Self::OwnViewUncertain,
        ]
        .contains(&self)
    }

    /// Whether the BMC does not say of its host whether it is off, as long as this stands in the way.
    pub fn leaves_power_unknown(self) -> bool {
        [
            Self::BmcUnreachable,
            Self::BmcNotReady,
            Self::BmcProtocolError,
            Self::BmcTlsUntrusted,
            Self::BmcCredentialsMissing,
            Self::BmcCredentialsRejected,
            Self::BmcForbidden,
        ]
        .contains(&self)
    }

    /// Whether the signal was taken back, or the Machine that it was for has gone.
    pub fn is_withdrawal(self) -> bool {
        [
            Self::TriggerWithdrawn,
            Self::RemediationInterruptedByNHC,
            Self::MachineNotFound,
            Self::MachineReplaced,
            Self::MachineDeleting,
        ]
        .contains(&self)
    }

    /// Whether it is what a BareMetalHost says of itself, so that people look for it there.
    pub fn is_of_bare_metal_host(self) -> bool {
        [
            Self::HostConsumerMismatch,
            Self::HostDeleting,
            Self::HostUnmanaged,
            Self::HostPaused,
            Self::HostDetached,
            Self::HostOffline,
            Self::HostServicing,
            Self::HostNotProvisioned,
            Self::HostHeldBySomeoneElse,
        ]
        .contains(&self)
    }
}

reasons! {
    // On the way.
    /// The signal was taken up and is being checked.
    Accepted => "Nothing to do.",
    /// metal3 is asked to power the host off and to keep it off.
    HoldRequested => "Nothing to do.",
    /// metal3 does not do what is asked of it by the BareMetalHost, or undoes what the daemon did.
    Metal3DoesNotReact => "See whether baremetal-operator and Ironic work.",
    /// The power-off was journalled and the BMC is asked.
    PowerOffRequested => "Nothing to do.",
    /// Off is proven and the workloads are being released.
    ReleasingWorkloads => "Nothing to do; pods and volume attachments of the Node are being cleaned up.",
    /// The power-on was journalled and the BMC is asked.
    PowerOnRequested => "Nothing to do.",
    /// The reset of a host that must not be powered off was journalled, and the BMC is asked for it.
    RestartRequested => "Nothing to do.",
    /// The host has power and has to boot.
    WaitingForNode => "Nothing to do until the boot deadline; watch the host's console if it takes long.",
    /// The Node is Ready with a new boot ID.
    Rebooted => "Nothing to do.",
    /// The Node became healthy before the host was touched.
    Recovered => "Nothing to do.",
    /// The signal was taken back before the host was touched.
    TriggerWithdrawn => "Nothing to do.",
    /// The BMC does not tell whether the host is off; a person may say that it is.
    AwaitingConfirmation => "Repair the BMC; or make sure that the host is off, and say so: baremetal-remediator confirm-off <remediation> --node <node> --reason <how you know>.",
    /// What a person has said is not acted on.
    ConfirmationRefused => "Correct what the message names, check the host once more, then confirm again.",
    /// A host that a person has said to be off, and that its BMC does not power on, is waited for.
    PowerOnByHand => "Repair the host and power it on; it is powered on by itself as soon as its BMC answers, unless this \
        remediation is annotated with baremetal-remediator.io/leave-off=true.",
    /// The next attempt waits for its time.
    RetryBackoff => "Nothing to do; the message says when the next attempt starts and why the last one failed.",

    // The administrator's limits.
    /// There is no RemediationPolicy named `default`.
    PolicyMissing => "Create the RemediationPolicy named \"default\"; nothing is powered without one.",
    /// The RemediationPolicy cannot be read.
    PolicyUnreadable => "Correct the RemediationPolicy named \"default\".",
    /// The pause switch is on.
    PolicyPaused => "Set spec.paused of the RemediationPolicy \"default\" to false to go on.",
    /// The policy does not let objects of this namespace be used.
    NamespaceNotAllowed => "Add the namespace to the field of the RemediationPolicy \"default\" that the message names, or use another one.",
    /// The policy does not let a remediation do what this one has chosen.
    StrategyNotAllowed => "Make a remediation with a value that is listed, or add this one to the field of the RemediationPolicy \"default\" that \
        the message names.",
    /// The spec of the remediation, or of the template that it would be made from, cannot be followed.
    SpecInvalid => "Correct the field that the message names.",

    // The Machine and what triggered.
    /// The Machine does not exist.
    MachineNotFound => "Name an existing Machine in spec.machineName or delete this remediation.",
    /// The Machine was replaced by another of the same name.
    MachineReplaced => "Delete this remediation; it was meant for an earlier Machine.",
    /// The Machine cannot be read.
    MachineUnreadable => "Correct what the message names: the field of the Machine, or whether its API is served.",
    /// The Cluster of a MachineHealthCheck does not exist or cannot be read.
    ClusterUnreadable => "Correct spec.clusterName of the MachineHealthCheck, or the Cluster that the message names.",
    /// The Machine is being deleted.
    MachineDeleting => "Nothing to do; the deletion decides the host's fate.",
    /// The Machine is in phase Failed, which its health check answers by deletion.
    MachineFailed => "Look into the Machine's errorMessage; a Failed Machine is replaced, not power-cycled.",
    /// Another API is authoritative for the Machine.
    MachineNotAuthoritative => "Remediate the Cluster API Machine instead, or end the migration.",
    /// The Machine or its Cluster carries a pause of Cluster API.
    MachinePaused => "Remove the pause that the message names to go on.",
    /// The Machine has no Node, and nothing says that its host was provisioned: it may be on its way.
    MachineNotProvisioned => "Nothing to do while the host is provisioned; without a Node it is power-cycled only if its Machine is in phase \
        Provisioned or Running.",
    /// A control-plane host, which the policy does not let be power-cycled.
    ControlPlaneRefused => "Recover this host by hand after checking etcd's quorum, or change what the message names; one \
        without a Node is always left to you.",
    /// A control-plane host, without which the others may not have quorum.
    ControlPlaneQuorum => "Bring the members that the message names back, or recover this host by hand after checking \
        etcd's quorum.",
    /// The replica that leads runs on the Node, or on an unhealthy one.
    OwnNode => "Wait for another replica of the daemon to take over; if there is none, start one on another Node.",
    /// Another remediator has its marks on the Machine.
    AnotherRemediatorActive => "Let the remediator that the message names finish, or switch it off.",
    /// Another controller of the platform answers the trigger of the Machine, and there is no switch for that.
    TriggerAnsweredElsewhere => "Let the health check make requests of ours in place of the trigger: name a \
        PowerCycleRemediationTemplate in spec.remediationTemplate of the MachineHealthCheck, or use a NodeHealthCheck.",
    /// No unpaused MachineHealthCheck with the strategy selects the Machine.
    NoHealthCheck => "Annotate the MachineHealthCheck that selects the Machine with \
        machine.openshift.io/remediation-strategy: external-baremetal, or remove the trigger.",
    /// The brakes of the policy hold nothing up.
    WithinLimits => "Nothing to do.",
    /// As many hosts are under remediation, or were powered off a short time ago, as the policy allows.
    WaitingForBudget => "Nothing to do; it goes on when others have ended. spec.limits of the RemediationPolicy says how many may be.",
    /// The daemon has just started, and nothing is begun before it has watched for a while.
    WatchingAfterStart => "Nothing to do; it goes on after spec.limits.startupHold of the RemediationPolicy.",
    /// So many Nodes are unhealthy at once that the reason is rarely their hosts.
    TooManyUnhealthy => "Look for what they have in common: network, certificates, control plane. It goes on by itself once fewer are \
        unhealthy; to go on at once raise spec.limits.maxUnhealthy of the RemediationPolicy.",
    /// It may be the daemon that cannot see, and not the hosts that are silent.
    OwnViewUncertain => "See to the API server and the Nodes of the control plane, and to the network between them and the daemon; it goes \
        on by itself.",
    /// So many hosts did not return that more power cycles may do harm.
    TooManyFailed => "Find out why they did not return; then delete the remediations that failed, or raise spec.limits.maxFailed of the \
        RemediationPolicy.",
    /// Another remediation of the same Machine is under way.
    AnotherRemediationActive => "Nothing to do; this one is looked at when the other has ended.",
    /// A field of a MachineHealthCheck cannot be followed.
    HealthCheckMalformed => "Correct the field that the message names; until then the health check selects nothing.",
    /// Every MachineHealthCheck that could vouch for the trigger is paused, or the health check that made the
    /// request is.
    HealthCheckPaused => "Remove the cluster.x-k8s.io/paused annotation of the MachineHealthCheck, or the pauseRequests of the NodeHealthCheck, to go on.",
    /// MachineHealthChecks that select the Machine disagree about what to do with it.
    ConflictingHealthChecks => "Let exactly one strategy select the Machine: change a selector or an annotation.",
    /// A MachineHealthCheck of the namespace, or the health check that made the request, cannot be read.
    HealthCheckUnreadable => "Correct the health check that the message names.",
    /// An unhealthy condition holds, but not for as long as its health check asks.
    WithinGracePeriod => "Nothing to do; the next look is at the end of the grace period.",
    /// The NodeHealthCheck told the remediation to stop, because it took longer than the time it was given.
    RemediationInterruptedByNHC => "Give this remediator more time in the NodeHealthCheck (escalatingRemediations[].timeout); \
        without a ladder it has 30 minutes.",
    /// The host was power-cycled a short time ago, and its Node is unhealthy again.
    PowerCycledRecently => "Find out what a reboot does not cure; the next power cycle waits for the time that the message \
        names, or until you delete the finished remediations of the Machine.",
    /// The host was power-cycled as often as it may be in a day, and its Node is unhealthy again.
    TooManyPowerCycles => "Repair what so many reboots did not cure; the next power cycle waits for the time that the message \
        names, or until you delete the finished remediations of the Machine. Where the message names \
        spec.limits.maxPerHost of the RemediationPolicy, raise that.",
    /// No MachineHealthCheck of Cluster API says of the Machine that it is unhealthy, without which its owner
    /// does not replace it.
    MachineNotMarkedUnhealthy => "Let a MachineHealthCheck of Cluster API select the Machine: its owner replaces what carries \
        HealthCheckSucceeded False.",
    /// The remediation failed, and the Machine is being replaced, as was asked for.
    Escalated => "Nothing to do; the owner of the Machine replaces it.",
    /// A remediation of this Machine that had powered its host off failed.
    Quarantined => "Find out why it failed; the quarantine ends when the Node has been Ready for 10 min after a reboot, or when \
        you delete what failed.",
    /// A remediation of this Machine failed a short time ago without having touched its host.
    RemediationFailedRecently => "See to what the failed remediation waited for; the next one is made at the time that the message names, or \
        when you delete the failed ones.",

    // The Node.
    /// The Machine has no Node, or the Node does not exist.
    NodeMissing => "Recover the host by hand: without a Node, only what spec.systemUUID of a BMCEndpoint states proves which host \
        this is, and only a MachineHealthCheck says that there should be one.",
    /// The Machine has no Node, and its health checks do not mind, however long that lasts.
    NodeStartupUnlimited => "Set nodeStartupTimeout of a MachineHealthCheck that selects the Machine to have it remediated without a Node.",
    /// The Node cannot be read.
    NodeUnreadable => "Correct the field of the Node that the message names.",
    /// The cluster whose Node it is cannot be asked.
    WorkloadClusterUnreachable => "Bring the API of the workload cluster back, or correct its kubeconfig Secret; \
        it is asked again by itself.",
    /// The cluster whose Node it is has not been asked yet.
    WorkloadClusterConnecting => "Nothing to do; it goes on when the API of the workload cluster has answered.",
    /// Machine and Node do not point at each other.
    NodeMachineMismatch => "Correct the Machine's nodeRef, or the annotation or providerID that the message names.",
    /// The Node reports although it should be silent.
    NodeStillReporting => "The Node still reports, so it is not off: check the BMC's wiring and firmware, \
        and that no other host uses this Node's name.",

    /// Somebody else holds the Lease by which medik8s' actors agree on who works on the Node.
    NodeLeaseHeld => "Let the holder that the message names finish; it deletes its Lease then, or lets it run out.",
    /// That Lease cannot be read.
    NodeLeaseUnreadable => "Apply deploy/base of this version, whose role may read it, and check the API server; it is read again by itself.",
    /// That Lease is free and could not be taken.
    NodeLeaseNotTaken => "Apply deploy/components/medik8s-leases, whose role may take it; it is tried again by itself.",

    // The host and its BMC.
    /// Neither a BareMetalHost nor a BMCEndpoint leads to the host's BMC.
    HostNotFound => "Create a BMCEndpoint for the Machine or its Node in the Machine's namespace.",
    /// More than one object claims to be the host.
    HostAmbiguous => "Leave exactly one BMCEndpoint or BareMetalHost for the Machine, and for its host, and one Node with its system UUID.",
    /// The object that describes the host cannot be read.
    HostUnreadable => "Correct the BMCEndpoint or BareMetalHost that the message names, or what keeps it from being read.",
    /// The BareMetalHost belongs to somebody else.
    HostConsumerMismatch => "Correct the BareMetalHost's consumerRef or the Machine's providerID.",
    /// The BareMetalHost cannot be powered on account of what it says of its namespace.
    HostNotFenceable => "Keep the BareMetalHost in the namespace of its Machine.",
    /// The BareMetalHost is being deleted.
    HostDeleting => "Nothing to do; a host that leaves metal3 is not power-cycled.",
    /// metal3 does not manage the power of the BareMetalHost.
    HostUnmanaged => "Give the BareMetalHost a spec.bmc.address, or delete it and describe the host by a BMCEndpoint.",
    /// Somebody has paused the BareMetalHost.
    HostPaused => "Remove the annotation baremetalhost.metal3.io/paused when whoever put it there is done.",
    /// Somebody else has detached the BareMetalHost.
    HostDetached => "Remove the annotation baremetalhost.metal3.io/detached when whoever put it there is done.",
    /// The BareMetalHost is meant to be off.
    HostOffline => "Set spec.online of the BareMetalHost to true if the host is to run.",
    /// Somebody has forbidden by the BareMetalHost to power the host off.
    PowerOffDisabled => "Remove spec.disablePowerOff of the BareMetalHost if the host may be powered off; else it is reset, and \
        nothing of it is released.",
    /// metal3 is servicing the host.
    HostServicing => "Nothing to do until metal3 has finished with the firmware of the host.",
    /// metal3 has not provisioned the host, or takes it back.
    HostNotProvisioned => "Nothing to do until the BareMetalHost is provisioned or externally provisioned.",
    /// Somebody else holds the host.
    HostHeldBySomeoneElse => "Let the holder that the message names finish, or remove its annotation.",
    /// The BMC address cannot be parsed, or its scheme is unknown.
    BmcAddressInvalid => "Correct the BMC address.",
    /// The BMC address is outside the networks that the policy allows, or in one that only the cluster uses.
    BmcAddressNotAllowed => "Correct the BMC address, or add the BMC's network to spec.bmc.allowedNetworks of the RemediationPolicy \"default\".",
    /// What the cluster uses itself is not known, so nothing can be told from a BMC.
    ClusterNetworksUnknown => "Apply deploy/base of this version, whose role may read it, and check the API server; it is read again by itself.",
    /// The protocol is not among those the policy allows.
    BmcProtocolNotAllowed => "Add the protocol to spec.bmc.protocols of the RemediationPolicy \"default\", or use a Redfish address.",
    /// The Secret does not exist or lacks a key.
    BmcCredentialsMissing => "Create the Secret with the keys username and password.",
    /// The Secret says that it is for other BMCs, or does not say it clearly; it is offered to none.
    BmcCredentialsForOthers => "Correct the annotation of the Secret that the message names, or give the host a Secret of its own.",
    /// The BMC rejected the login; this version of the Secret is not tried again.
    BmcCredentialsRejected => "A new version of the Secret is tried by itself, within half a minute while a remediation waits for it.",
    /// The BMC does not let the account do this.
    BmcForbidden => "Give the BMC account the role Operator; it is asked again by itself.",
    /// The BMC's certificate could not be verified.
    BmcTlsUntrusted => "Give the BMC's CA (caBundle or ca.crt) or the certificate's SHA-256 fingerprint.",
    /// The BMC does not answer.
    BmcUnreachable => "Check the BMC's network and whether it hangs; it may need a reset or a power drain.",
    /// The BMC answers so slowly that what it says is too old to prove Off.
    BmcTooSlow => "Find out what keeps the BMC busy (other clients, its network) or update its firmware; it is asked again by itself.",
    /// The BMC answers, but is busy or not ready.
    BmcNotReady => "Nothing to do if it passes; else reset the BMC.",
    /// The BMC answered something that is neither Redfish nor IPMI 2.0, or with an error.
    BmcProtocolError => "Check that the address is a BMC of that protocol; update or reset the BMC.",
    /// Several systems are behind the BMC and none is named.
    BmcSystemAmbiguous => "Name the system in the BMC address, such as /redfish/v1/Systems/1.",
    /// The BMC refused the power command.
    BmcCommandRefused => "Check the BMC user's role (Operator is needed) and the reset types it supports.",
    /// The BMC took the power command and failed over it.
    BmcCommandFailed => "Nothing to do if a later command works, which is sent only on what is read; else reset the BMC.",
    /// The BMC uses a word for the power state that proves nothing.
    BmcPowerStateUnknown => "Update the firmware of the BMC, or reset it: Off could not be proven.",
    /// The BMC's certificate has expired or soon will, and will be refused.
    BmcCertificateExpiring => "Renew the certificate in time, or trust the BMC by its fingerprint.",
    /// The BMC's Redfish service is silent; IPMI answers, which the policy allows in its place.
    BmcOnlyOverIpmi => "Bring the BMC's Redfish service back: reset the BMC, check its network.",
    /// The host behind the BMC is another one.
    IdentityMismatch => "Correct the BMC address: it belongs to another host.",
    /// Nothing proves which host is behind the BMC.
    IdentityUnproven => "Set spec.systemUUID of the BMCEndpoint, or update firmware that reports no UUID.",

    // What the daemon may do.
    /// The daemon may watch everything that it needs to.
    RoleComplete => "Nothing to do.",
    /// The daemon's role does not let it watch something, as when it is of an earlier version.
    RoleIncomplete => "Apply deploy/base of this version; it is tried again by itself.",

    // What is known of a BMC before it is needed.
    /// The last check of the BMC found nothing that would stop a remediation.
    BmcReady => "Nothing to do.",
    /// The BMC was not checked yet.
    BmcNotChecked => "Nothing to do; it is checked when its turn comes.",
    /// The policy switches the checks off.
    ReadinessChecksOff => "Set spec.bmc.readiness.interval of the RemediationPolicy \"default\" to have BMCs checked.",

    // Who evaluates health checks.
    /// Our own health checker evaluates MachineHealthChecks.
    StandingIn => "Nothing to do.",
    /// The platform's controller evaluates MachineHealthChecks, so ours does not.
    PlatformControllerRuns => "Nothing to do.",
    /// The policy switches our health checker off.
    SwitchedOff => "Set spec.healthChecker of the RemediationPolicy \"default\" to Auto where the platform's controller does not run.",
    /// Whether the platform's controller runs is not known, so ours does not.
    PlatformControllerUnknown => "Nothing to do if it passes; else check this daemon's role, or set spec.healthChecker of the \
        RemediationPolicy \"default\" to Always or Never.",
    /// Every health check that asks for power cycles is evaluated by somebody, as far as that is known.
    HealthChecksServed => "Nothing to do.",
    /// MachineHealthChecks ask for power cycles, and no controller evaluates them.
    HealthChecksUnserved => "Let the platform's controller run, or, for those with the annotation and no template, set \
        spec.healthChecker of the RemediationPolicy \"default\" to Auto.",
    /// The template that a health check names does not exist, or has a field that cannot be followed.
    TemplateUnusable => "Create the PowerCycleRemediationTemplate, correct the field that the message names, or name another \
        template.",
    /// MachineHealthChecks ask for power cycles by an annotation that their controller does not know.
    StrategyNotKnown => "Name a PowerCycleRemediationTemplate in the remediation template of the MachineHealthCheck.",
    /// NodeHealthChecks with our template are disabled, because MachineHealthChecks exist.
    DisabledByMachineHealthChecks => "Delete the MachineHealthChecks, or use them instead of the NodeHealthCheck: \
        the NodeHealthCheck operator serves none while there are others.",

    // Failures of an attempt.
    /// The live check before the power-off could not be completed in time; nothing was sent.
    LiveCheckIncomplete => "Find out why the API server answers slowly or not at all; it is tried again by itself.",
    /// The BMC did not say Off in time.
    PowerOffNotConfirmed => "Check the host at its console; nothing was released.",
    /// Releasing took longer than allowed.
    ReleaseIncomplete => "Check the pods and VolumeAttachments that the message names.",
    /// The host was powered on by somebody else while workloads were being released.
    HostCameOn => "Find out who powers the host: metal3, an automation or a person.",
    /// The BMC did not say On in time.
    PowerOnNotConfirmed => "Power the host on by hand.",
    /// The Node did not come back in time.
    BootDeadlineExceeded => "Look at the host's console; no workload waits for it.",
    /// The Node came back Ready with the boot ID it had before.
    BootIdUnchanged => "The Node did not reboot although the BMC said so: check which host the BMC controls.",
    /// A phase took longer than its deadline.
    PendingDeadlineExceeded => "The message says what was waited for; delete this remediation to try again.",
    /// The API server refused a write for too long.
    ApiWriteRefused => "Check the daemon's permissions and the admission webhooks; the message says what the server said.",
    /// The remediation was removed while its power-off may stand.
    RemediationVanished => "Check the host at its console and power it on; never remove the finalizer of a \
        PowerCycleRemediation, delete the object instead.",
    /// The stored state contradicts itself.
    JournalUnreadable => "Do not edit the status; delete the remediation after checking the host.",
}
