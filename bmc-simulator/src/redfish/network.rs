//! `ManagerNetworkProtocol` and the BMC's `EthernetInterface`.

use serde_json::{Map, Value, json};

use super::body_of::{collection, resource};
use super::manager::{ID, PATH};
use super::message::Base;
use super::patch::{Change, Plan, flag, text};
use super::schema;
use crate::host::Acting;

/// The one interface of the BMC.
const INTERFACE: &str = "eth0";
/// Time servers that can be set.
const MOST_SERVERS: usize = 8;

/// What can be set of the BMC's network. It is kept and shown; the simulator asks no time server.
#[derive(Debug, Default)]
pub(super) struct Network {
    ntp_enabled: bool,
    ntp_servers: Vec<String>,
    /// Its user does not want it to be found over SSDP.
    hidden: bool,
}

/// A change of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NetworkChange {
    NtpEnabled(bool),
    NtpServers(Vec<String>),
    SsdpEnabled(bool),
}

impl Network {
    pub(super) fn apply(&mut self, change: NetworkChange) {
        match change {
            NetworkChange::NtpEnabled(on) => self.ntp_enabled = on,
            NetworkChange::NtpServers(servers) => self.ntp_servers = servers,
            NetworkChange::SsdpEnabled(on) => self.hidden = !on,
        }
    }
}

/// URL of the service root, for those who look for services; absent when the BMC is not to be found.
pub(crate) fn discoverable(acting: &Acting<'_>) -> Option<String> {
    let there = acting.door().is_open() && !acting.state.redfish.network.hidden;
    there.then(|| format!("{}/redfish/v1/", acting.core.redfish_url()))
}

fn ssdp(acting: &Acting<'_>) -> Value {
    match acting.core.ssdp_port {
        Some(port) => json!({"ProtocolEnabled": !acting.state.redfish.network.hidden, "Port": port}),
        None => json!({"ProtocolEnabled": false}),
    }
}

/// `/redfish/v1/Managers/{id}/NetworkProtocol`.
pub(super) fn protocol(acting: &Acting<'_>, id: &str) -> Option<Value> {
    let network = &acting.state.redfish.network;
    (id == ID).then(|| {
        resource(
            schema::NETWORK_PROTOCOL,
            &format!("{PATH}/NetworkProtocol"),
            "NetworkProtocol",
            "Manager Network Protocol",
            json!({
                "HostName": acting.core.name,
                "FQDN": null,
                "Status": {"State": "Enabled", "Health": "OK"},
                "HTTP": {"ProtocolEnabled": false, "Port": 80},
                "HTTPS": {"ProtocolEnabled": true, "Port": acting.core.address.port()},
                "SSDP": ssdp(acting),
                "NTP": {"ProtocolEnabled": network.ntp_enabled, "NTPServers": network.ntp_servers},
            }),
        )
    })
}

/// PATCH of `NetworkProtocol`: only of its `NTP`, and of `SSDP` where there is such.
pub(super) fn plan(plan: &mut Plan, acting: &Acting<'_>, name: &str, value: &Value) -> bool {
    let has_ssdp = acting.core.ssdp_port.is_some();
    if name != "NTP" && !(name == "SSDP" && has_ssdp) {
        return false;
    }
    let Some(properties) = value.as_object() else {
        let shown = value.to_string();
        plan.wrong(Base::PropertyValueTypeError.message(&[&shown, name]).about(name));
        return true;
    };
    let change = |change| Change::Network(change);
    if name == "SSDP" {
        plan_ssdp(plan, properties);
        return true;
    }
    for (name, value) in properties {
        match name.as_str() {
            "ProtocolEnabled" => plan.take(flag(name, value), |on| change(NetworkChange::NtpEnabled(on))),
            "NTPServers" => {
                let servers = array(&acting.state.redfish.network.ntp_servers, value);
                plan.take(servers, |servers| change(NetworkChange::NtpServers(servers)));
            }
            _ => plan.refuse(&json!({}), name),
        }
    }
    true
}

fn plan_ssdp(plan: &mut Plan, properties: &Map<String, Value>) {
    for (name, value) in properties {
        if name == "ProtocolEnabled" {
            let change = |on| Change::Network(NetworkChange::SsdpEnabled(on));
            plan.take(flag(name, value), change);
        } else {
            plan.refuse(&json!({"Port": 0}), name);
        }
    }
}

/// A new value of an array: null removes an element, `{}` leaves it, what is not named goes (DSP0266,
/// "PATCH on array properties").
fn array(current: &[String], value: &Value) -> Result<Vec<String>, super::message::Message> {
    const NAME: &str = "NTPServers";
    let Some(elements) = value.as_array() else {
        let shown = value.to_string();
        return Err(Base::PropertyValueTypeError.message(&[&shown, NAME]).about(NAME));
    };
    let mut merged = Vec::new();
    for (index, element) in elements.iter().enumerate() {
        if element.is_null() {
            continue;
        }
        if element.as_object().is_some_and(serde_json::Map::is_empty) {
            merged.extend(current.get(index).cloned());
        } else {
            merged.push(text(NAME, element)?);
        }
    }
    if merged.len() > MOST_SERVERS {
        let count = merged.len().to_string();
        return Err(Base::PropertyValueOutOfRange.message(&[&count, NAME]).about(NAME));
    }
    Ok(merged)
}

/// `/redfish/v1/Managers/{id}/EthernetInterfaces`.
pub(super) fn interfaces(id: &str) -> Option<Value> {
    let uri = format!("{PATH}/EthernetInterfaces");
    let member = std::iter::once(format!("{uri}/{INTERFACE}"));
    (id == ID).then(|| collection(schema::ETHERNETS, &uri, "Ethernet Interface Collection", member))
}

/// `/redfish/v1/Managers/{id}/EthernetInterfaces/{interface}`.
pub(super) fn interface(acting: &Acting<'_>, id: &str, interface: &str) -> Option<Value> {
    let address = acting.core.address.ip();
    let (fourth, sixth): (Vec<Value>, Vec<Value>) = if address.is_ipv4() {
        let address = json!({
            "Address": address, "SubnetMask": "255.0.0.0", "AddressOrigin": "Static", "Gateway": null,
        });
        (vec![address], Vec::new())
    } else {
        let address = json!({
            "Address": address, "PrefixLength": 128, "AddressOrigin": "Static", "AddressState": "Preferred",
        });
        (Vec::new(), vec![address])
    };
    let named = id == ID && interface == INTERFACE;
    named.then(|| {
        resource(
            schema::ETHERNET,
            &format!("{PATH}/EthernetInterfaces/{INTERFACE}"),
            INTERFACE,
            "Manager Ethernet Interface",
            json!({
                "InterfaceEnabled": true,
                "LinkStatus": "LinkUp",
                "Status": {"State": "Enabled", "Health": "OK"},
                "IPv4Addresses": fourth,
                "IPv6Addresses": sixth,
                "Links": {"Chassis": super::chassis::of_manager(acting)},
            }),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::array;
    use serde_json::json;

    #[test]
    fn an_array_is_merged_by_position() {
        let current = ["a".to_owned(), "b".to_owned()];
        for (value, expected) in [
            (json!(["x"]), vec!["x"]),
            (json!([null, "y"]), vec!["y"]),
            (json!([{}, "z"]), vec!["a", "z"]),
            (json!([{}, {}, {}, "new"]), vec!["a", "b", "new"]),
            (json!([]), vec![]),
        ] {
            assert_eq!(array(&current, &value).unwrap(), expected, "{value}");
        }
        assert!(array(&current, &json!("a")).is_err());
        assert!(array(&current, &json!([1])).is_err());
        assert!(array(&current, &json!(vec!["a"; 9])).is_err());
    }
}
