//! BMCs as vendors make them: each a set of the switches and faults that stand on their own, with where
//! the behaviour was reported. Nothing here was measured on hardware, and where a report gives no figure,
//! the one here is a guess that is marked as such.

mod ami;
mod dell;
mod family;
mod hpe;
mod openbmc;
mod others;
mod simulators;
mod supermicro;

use serde::{Deserialize, Serialize};

use crate::fault::Injection;
use crate::host::BootSequence;
use crate::ipmi::IpmiSpec;
use crate::power::Delays;
use crate::redfish::RedfishSpec;
use family::Family;

macro_rules! families {
    ($($(#[$doc:meta])* $variant:ident $name:literal $(or $alias:literal)? = $family:expr;)+) => {
        /// A family of BMCs, or another simulator.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum Personality {
            $($(#[$doc])* #[serde(rename = $name $(, alias = $alias)?)] $variant,)+
        }

        impl Personality {
            /// All of them.
            pub const ALL: [Self; 23] = [$(Self::$variant,)+];

            /// The name used in fleet files and on the command line.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// The other name by which fleet files and the command line know it, if it has one.
            pub fn alias(self) -> Option<&'static str> {
                match self { $(Self::$variant => None$(.or(Some($alias)))?,)+ }
            }

            /// The family of this name, or of another name that it has.
            pub fn named(name: &str) -> Option<Self> {
                match name {
                    $($name $(| $alias)? => Some(Self::$variant),)+
                    _ => None,
                }
            }

            fn family(self) -> Family {
                match self { $(Self::$variant => $family,)+ }
            }
        }
    };
}

families! {
    /// Dell iDRAC8: sessions at `/redfish/v1/Sessions`, and 405 at the usual place (mrlhansen/idrac_exporter
    /// issue 132 and PR 137, also for the version of Redfish); GracefulRestart is a hard reset
    /// (dell/iDRAC-Redfish-Scripting issue 29); and what all iDRACs do, below.
    Idrac8 "idrac8" = dell::idrac8();
    /// Dell iDRAC9 of a 14th generation server, which offers no GracefulRestart (redhat-performance/quads
    /// issue 311); and what all iDRACs do:
    ///
    /// - 409 `PSU501` to a reset to the present state (NVIDIA/libredfish `network.rs`, apache/cloudstack issue
    ///   13376, dell/dellemc-openmanage-ansible-modules issue 132);
    /// - eight sessions, then 503 `RAC0218` (stmcginnis/gofish issue 75), until one is idle for 20 minutes;
    /// - 503 `SYS518` while it starts (ironcore-dev/metal-operator issue 170), and then single false 401s for 7
    ///   minutes (dell/iDRAC-Redfish-Scripting issue 383);
    /// - it blocks the address of a client instead of the account (dell/iDRAC-Redfish-Scripting issue 295); five
    ///   failures in a minute block for five, as in an example of Dell's iDRAC6 guide;
    /// - the mains go by a BIOS attribute (NVIDIA/libredfish `dell.rs`);
    /// - `LastResetTime` is no time (NVIDIA/libredfish `tests/mockups/dell_multi_dpu`, which, with
    ///   `tests/mockups/dell`, has the names and the reset types, too).
    Idrac9 "idrac9" = dell::idrac9();
    /// Dell iDRAC10: 409 `ActionParameterValueConflict` to an On for a minute after the power-off (ironic
    /// `ironic/conf/redfish.py`); 412 to a reset with If-Match (stmcginnis/gofish PR 510,
    /// ironcore-dev/metal-operator issue 1015); and what all iDRACs do, above.
    Idrac10 "idrac10" = dell::idrac10();
    /// HPE iLO5: resets a connection that is used again (NVIDIA/libredfish `network.rs`, DMTF/python-redfish-library
    /// issue 64); 400 `InvalidOperationForSystemState` soon after a power operation (openstack/sushy
    /// `connector.py`; 5 s is a guess); 200 with an error that says `Success`, and weak tags (goldyfruit/ansible-ilo
    /// issue 1); AuxCycle in an action of its own (NVIDIA/libredfish `hpe.rs`). Names and reset types as
    /// NVIDIA/libredfish `tests/mockups/hpe`.
    Ilo5 "ilo5" = hpe::ilo5();
    /// HPE iLO6: as iLO5, but connections can be used again, for only of iLO5 the contrary was reported.
    Ilo6 "ilo6" = hpe::ilo6();
    /// HPE Cray EX: 6.9 s to power off, 54.5 s to power on, `PoweringOn` for a while after an On to a node that
    /// is on (2 s is a guess); nodes in blades in an enclosure (powerman `redfishpower.c`).
    CrayEx "cray-ex" = hpe::cray_ex();
    /// Lenovo XClarity Controller: 204 to a reset that changes nothing (NVIDIA/libredfish `network.rs`); no
    /// PushPowerButton (ironcore-dev/metal-operator PR 129); ACPowerCycle in an action of its own (NVIDIA/libredfish
    /// `lenovo.rs`). Names and reset types as NVIDIA/libredfish `tests/mockups/lenovo`.
    Xcc "xcc" = others::xcc();
    /// Supermicro X9: over IPMI the checksums of its messages are wrong (FreeIPMI, LAN session note 7); and as
    /// X11.
    SmcX9 "smc-x9" = supermicro::x9();
    /// Supermicro X11: crashes when it is asked too often (metal3-io/ironic-image issue 688; 20 requests a
    /// second is a guess); and what all Supermicros do, below.
    SmcX11 "smc-x11" = supermicro::x11();
    /// Supermicro X13: ACCycle in an action of its own (NVIDIA/libredfish `supermicro.rs`); and what all
    /// Supermicros do: 202 without a task (nv-redfish `AcceptedActionWithoutTask`), some 20 s for each change of
    /// power (powerman `redfishpower.c`), a reset over IPMI of a machine that is off succeeds in doing nothing
    /// (bmc-toolbox/bmclib issue 211). Names and reset types as NVIDIA/libredfish `tests/mockups/supermicro`.
    SmcX13 "smc-x13" or "supermicro" = supermicro::x13();
    /// OpenBMC: allowed reset types behind ActionInfo only (ibm-openbmc/dev issue 3211), PowerCycle is a restart
    /// (openbmc/bmcweb `systems.hpp`), no vendor in the root (`service_root.hpp`), a system `hypervisor` beside
    /// the real one, IPMI cipher suite 17 only (bmc-toolbox/bmclib PR 324).
    Openbmc "openbmc" = openbmc::upstream();
    /// IBM's OpenBMC: as OpenBMC, without ForceRestart (ibm-openbmc/bmcweb PRs 157, 522 and 801).
    IbmOpenbmc "ibm-openbmc" = openbmc::ibm();
    /// SONiC's OpenBMC: as OpenBMC, without the system `hypervisor`, and offers a ForceOff that cannot be
    /// done (sonic-net/sonic-mgmt issue 27237).
    SonicBmc "sonic-bmc" = openbmc::sonic();
    /// NVIDIA GB200: OpenBMC with `HGX_Baseboard_0` instead of `hypervisor`, listed first, and AuxPowerReset of the chassis `BMC_0`
    /// (NVIDIA/libredfish `nvidia_gbx00.rs` and `tests/mockups/nvidia_gb200`).
    Gb200 "gb200" = openbmc::gb200();
    /// AMI MegaRAC: refuses its own entity tags (ansible-collections/community.general PR 3268 says so of a vendor
    /// that it does not name, so it is a guess that it is this one). Names as NVIDIA/libredfish
    /// `tests/mockups/nvidia_viking`, which is a MegaRAC.
    Ami "ami" = ami::megarac();
    /// Gigabyte, before a later firmware mended it: PATCH needs If-Match and refuses the weak tag that was handed
    /// out (ansible-collections/community.general PR 6434).
    Gigabyte "gigabyte" = ami::gigabyte();
    /// ASRock with a shared port: skips session sequence numbers over IPMI (FreeIPMI, LAN session note 9; by how
    /// many is a guess).
    Asrock "asrock" = ami::asrock();
    /// NVIDIA DGX H100 (Viking), a MegaRAC: `HGX_Baseboard_0` is listed first and answers 503
    /// `HMCCommuicationFailed` while the host is off (NVIDIA/infra-controller issue 5418); Manager.Reset and PATCH need
    /// If-Match (NVIDIA/libredfish `nvidia_viking.rs`); the inventory of firmware takes minutes
    /// (NVIDIA/infra-controller issue 1584). Names and reset types as NVIDIA/libredfish
    /// `tests/mockups/nvidia_viking`.
    DgxH100 "dgx-h100" = ami::dgx_h100();
    /// Huawei iBMC: PATCH needs If-Match (ansible/ansible issue 60031); systems do not say who manages them
    /// (openstack/sushy `retry-on-missing-managedby`, of the 1288H, which misses it at times).
    Huawei "huawei" = others::huawei();
    /// H3C HDM: TLS 1.2 only. Its cipher suites, RSA key exchange alone (mrlhansen/idrac_exporter issue 204), rustls
    /// cannot serve: put such a server in front to try them.
    H3c "h3c" = others::h3c();
    /// Cisco UCS: refuses ADMINISTRATOR over IPMI (ipmitool/ipmitool issue 376).
    CiscoUcs "cisco-ucs" = others::cisco_ucs();
    /// sushy-emulator 2.2.0 with its fake driver: no SessionService, TLS 1.2 only, 1 to 11 s for each change of
    /// power, forgets an On that comes before the power-off is done.
    SushyEmulator "sushy-emulator" or "sushy" = simulators::sushy();
    /// DMTF Redfish-Mockup-Server: 204 to every reset, and the power state stays what it was.
    MockupServer "mockup-server" or "mockup" = simulators::mockup();
}

impl Personality {
    /// Manufacturer and model as the BMC tells them.
    pub(crate) fn product(self) -> (&'static str, &'static str) {
        self.family().product
    }

    /// Id of its one system.
    pub(crate) fn system_id(self) -> &'static str {
        self.family().system_id
    }

    /// Where its machine is, the outermost enclosure first.
    pub(crate) fn chassis(self) -> &'static [&'static str] {
        self.family().chassis
    }

    /// The settings of its Redfish service, where they are not as `before`.
    pub(crate) fn redfish(self, before: RedfishSpec) -> RedfishSpec {
        (self.family().redfish)(before)
    }

    /// The faults that belong to it.
    pub(crate) fn faults(self) -> Vec<Injection> {
        self.family().faults
    }

    /// Ids of the systems that it lists before the real one.
    pub(crate) fn decoys(self) -> &'static [&'static str] {
        self.family().decoys
    }

    /// Its IPMI, where nothing else was said.
    pub(crate) fn ipmi(self, said: IpmiSpec) -> IpmiSpec {
        (self.family().ipmi)(said)
    }

    /// How its BMC comes up.
    pub(crate) fn bmc_boot(self) -> BootSequence {
        self.family().bmc_boot
    }

    /// How long its machine takes; absent when it is not known for that.
    pub(crate) fn delays(self, before: Delays) -> Option<Delays> {
        let (off, on) = self.family().off_and_on?;
        Some(Delays { off, on, ..before })
    }
}

#[cfg(test)]
mod tests {
    use super::Personality;

    #[test]
    fn every_name_is_read_by_all_who_read_names() {
        let aliases = [
            ("supermicro", Personality::SmcX13),
            ("sushy", Personality::SushyEmulator),
            ("mockup", Personality::MockupServer),
        ];
        let names = Personality::ALL.iter().map(|one| (one.as_str(), *one));
        for (name, personality) in names.chain(aliases) {
            assert_eq!(Personality::named(name), Some(personality), "{name}");
            let read = serde_json::from_value::<Personality>(name.into()).unwrap();
            assert_eq!(read, personality, "{name}");
        }
        let other_names = Personality::ALL.map(|one| one.alias().map(|alias| (alias, one)));
        assert_eq!(other_names.into_iter().flatten().collect::<Vec<_>>(), aliases);
        assert_eq!(Personality::named("idrac11"), None);
    }

    #[test]
    fn no_family_has_a_fault_that_could_have_no_effect() {
        for family in Personality::ALL {
            for fault in family.faults() {
                assert!(fault.check().is_ok(), "{}: {fault:?}", family.as_str());
            }
        }
    }
}
