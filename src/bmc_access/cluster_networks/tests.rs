//! What servers of several kinds say of the cluster's ranges, and what comes of it.

use std::sync::Mutex;

use axum::Router;
use axum::http::{StatusCode, Uri};
use kube::runtime::watcher::Event;
use proptest::prelude::*;
use remediator_bmc::NotAllowed;
use serde_json::{Value, json};

use crate::bmc_access::cluster_networks::*;
use crate::watch::shared_cache::SharedCache;

/// What a server answers, by path; 404 for every other.
type Answers = Vec<(&'static str, StatusCode, Value)>;

const SERVICES: &str = "/apis/networking.k8s.io/v1/servicecidrs";
const NETWORK: &str = "/apis/config.openshift.io/v1/networks/cluster";

/// A server whose answers can be changed.
async fn server(answers: Answers) -> (Client, Arc<Mutex<Answers>>) {
    let answers = Arc::new(Mutex::new(answers));
    let handler = {
        let answers = Arc::clone(&answers);
        move |uri: Uri| async move {
            let answers = answers.lock().unwrap();
            let found = answers.iter().find(|(path, ..)| *path == uri.path());
            found.map_or_else(
                || (StatusCode::NOT_FOUND, "404 page not found\n".to_owned()),
                |(_, code, body)| (*code, body.to_string()),
            )
        }
    };
    let mut config = crate::test_server::served(Router::new().fallback(handler)).await;
    config.default_retry = false;
    (Client::try_from(config).unwrap(), answers)
}

fn service_cidrs(cidrs: &[&str]) -> (&'static str, StatusCode, Value) {
    let item = json!({"metadata": {"name": "kubernetes"}, "spec": {"cidrs": cidrs}});
    let list = json!({"metadata": {"resourceVersion": "1"}, "items": [item]});
    (SERVICES, StatusCode::OK, list)
}

fn network(status: &Value) -> (&'static str, StatusCode, Value) {
    let object =
        json!({"metadata": {"name": "cluster"}, "spec": {"networkType": "OVNKubernetes"}, "status": status});
    (NETWORK, StatusCode::OK, object)
}

fn refusal(path: &'static str, code: StatusCode) -> (&'static str, StatusCode, Value) {
    let status =
        json!({"kind": "Status", "status": "Failure", "reason": "", "message": "no", "code": code.as_u16()});
    (path, code, status)
}

fn node(podcidrs: &Value, addresses: &Value) -> Arc<Guarded<Node>> {
    let node = json!({
        "metadata": {"name": "worker-1"}, "spec": {"podCIDRs": podcidrs}, "status": {"addresses": addresses},
    });
    Arc::new(serde_json::from_value(node).unwrap())
}

fn texts(ranges: &[ReservedRange]) -> Vec<String> {
    let text = |range: &ReservedRange| format!("{} {:?}", range.range(), range.used_for());
    ranges.iter().map(text).collect()
}

#[tokio::test]
async fn every_server_is_asked_for_what_it_has() {
    let api_server: [IpAddr; 2] = ["10.96.0.1".parse().unwrap(), "127.0.0.1".parse().unwrap()];
    let openshift = json!({
        "clusterNetwork": [{"cidr": "10.128.0.0/14", "hostPrefix": 23}, {"cidr": "fd01::/48", "hostPrefix": 64}],
        "serviceNetwork": ["172.30.0.0/16"], "networkType": "OVNKubernetes",
    });
    for (what, answers, expected) in [
        ("a server before 1.33", vec![], vec!["10.96.0.1/32 ApiServer"]),
        (
            "two families",
            vec![service_cidrs(&["10.96.0.0/16", "fd00:96::/112"])],
            vec![
                "10.96.0.1/32 ApiServer",
                "10.96.0.0/16 Services",
                "fd00:96::/112 Services",
            ],
        ),
        (
            "OpenShift before 4.20",
            vec![network(&openshift)],
            vec![
                "10.96.0.1/32 ApiServer",
                "10.128.0.0/14 Pods",
                "fd01::/48 Pods",
                "172.30.0.0/16 Services",
            ],
        ),
        (
            "OpenShift that is being installed",
            vec![network(&json!({})), service_cidrs(&["172.30.0.0/16"])],
            vec!["10.96.0.1/32 ApiServer", "172.30.0.0/16 Services"],
        ),
    ] {
        let (client, _) = server(answers).await;
        let ranges = read(&client, &api_server).await.unwrap();
        assert_eq!(texts(&ranges), expected, "{what}");
    }
}

#[tokio::test]
async fn what_a_server_has_and_does_not_tell_stops() {
    for (what, answers, says) in [
        (
            "no right to list",
            vec![refusal(SERVICES, StatusCode::FORBIDDEN)],
            "the role does not let ServiceCIDRs be read",
        ),
        (
            "a server in trouble",
            vec![refusal(SERVICES, StatusCode::SERVICE_UNAVAILABLE)],
            "listing the ServiceCIDRs failed",
        ),
        (
            "no right to read OpenShift's",
            vec![
                service_cidrs(&["10.96.0.0/16"]),
                refusal(NETWORK, StatusCode::FORBIDDEN),
            ],
            "the role does not let OpenShift's Network be read",
        ),
        (
            "a range that is none",
            vec![service_cidrs(&["10.96.0.0"])],
            "\"10.96.0.0\" of ServiceCIDR kubernetes is no range",
        ),
        (
            "OpenShift's is none",
            vec![network(&json!({"clusterNetwork": [{"cidr": "10.128.0.0/99"}]}))],
            "Network cluster: status.clusterNetwork[0].cidr: \"10.128.0.0/99\" is no range",
        ),
    ] {
        let (client, _) = server(answers).await;
        let obstacle = read(&client, &[]).await.unwrap_err();
        assert_eq!(obstacle.reason, Reason::ClusterNetworksUnknown, "{what}");
        assert!(obstacle.detail.contains(says), "{what}: {}", obstacle.detail);
    }
}

#[tokio::test]
async fn nothing_is_allowed_before_it_is_known_and_what_was_known_stays() {
    let rules = BmcRules {
        allowed_networks: vec!["10.0.0.0/8".parse().unwrap()],
        ..BmcRules::default()
    };
    let address: BmcAddress = "redfish://10.96.0.7".parse().unwrap();
    let (client, answers) = server(vec![refusal(SERVICES, StatusCode::FORBIDDEN)]).await;
    let networks = ClusterNetworks::new(client, Vec::new());
    let reason =
        |networks: &ClusterNetworks| networks.allowed(&rules, &address, &[], false).unwrap_err().reason;
    let checked = |networks: &ClusterNetworks| {
        let allowed = networks.allowed(&rules, &address, &[], false).unwrap();
        allowed.check("10.96.0.7".parse().unwrap())
    };

    assert_eq!(reason(&networks), Reason::ClusterNetworksUnknown, "not read yet");
    assert_eq!(networks.refresh().await, RETRY);
    assert_eq!(reason(&networks), Reason::ClusterNetworksUnknown, "not readable");
    let begun = networks.allowed(&rules, &address, &[], true).unwrap();
    assert_eq!(
        begun.check("10.96.0.7".parse().unwrap()),
        Ok(()),
        "a host that is off is not left off for that"
    );

    *answers.lock().unwrap() = vec![service_cidrs(&["10.96.0.0/16"])];
    assert_eq!(networks.refresh().await, REREAD);
    assert!(matches!(checked(&networks), Err(NotAllowed::Reserved(_))));

    *answers.lock().unwrap() = vec![refusal(SERVICES, StatusCode::INTERNAL_SERVER_ERROR)];
    assert_eq!(networks.refresh().await, RETRY);
    assert!(
        matches!(checked(&networks), Err(NotAllowed::Reserved(_))),
        "what was read before holds"
    );

    *answers.lock().unwrap() = vec![service_cidrs(&["10.97.0.0/16"])];
    assert_eq!(networks.refresh().await, REREAD);
    assert_eq!(checked(&networks), Ok(()), "another range");
}

#[tokio::test]
async fn nodes_say_where_their_pods_and_they_themselves_are() {
    let (client, _) = server(vec![]).await;
    let networks = ClusterNetworks::new(client, Vec::new());
    networks.refresh().await;
    let everywhere = BmcRules {
        allowed_networks: vec!["0.0.0.0/0".parse().unwrap()],
        ..BmcRules::default()
    };
    let addresses = json!([
        {"type": "InternalIP", "address": "10.20.0.9"},
        {"type": "InternalIP", "address": "no address"},
        {"type": "Hostname", "address": "10.20.0.10"},
        {"type": "ExternalIP", "address": "10.20.0.11"},
    ]);
    let nodes = [
        node(&json!(["10.244.0.0/24", "fd00:244::/64"]), &addresses),
        node(&Value::Null, &Value::Null),
    ];
    for (address, used_for) in [
        ("10.244.0.7", Some(RangeUse::Pods)),
        ("10.244.1.7", None),
        ("10.20.0.9", Some(RangeUse::Node)),
        ("10.20.0.10", None),
        ("10.20.0.11", None),
    ] {
        let bmc: BmcAddress = format!("redfish://{address}").parse().unwrap();
        let allowed = networks.allowed(&everywhere, &bmc, &nodes, false).unwrap();
        let found = match allowed.check(address.parse().unwrap()) {
            Ok(()) => None,
            Err(NotAllowed::Reserved(range)) => Some(range.used_for()),
            Err(NotAllowed::Unlisted) => panic!("{address} is listed"),
        };
        assert_eq!(found, used_for, "{address}");
    }

    let unreadable = node(&json!(["10.244.0.0"]), &Value::Null);
    let bmc: BmcAddress = "redfish://10.20.0.1".parse().unwrap();
    let obstacle = networks
        .allowed(&everywhere, &bmc, &[unreadable], false)
        .unwrap_err();
    assert_eq!(obstacle.reason, Reason::NodeUnreadable);
    assert!(obstacle.detail.contains("Node worker-1") && obstacle.detail.contains("spec.podCIDRs: "));
}

proptest! {
    /// No index hides a Node that forbids an address.
    #[test]
    fn by_key_the_same_addresses_are_forbidden_as_by_all_nodes(
        nodes in proptest::collection::vec((0..4_u8, 0..4_u8, 8..33_u8, proptest::bool::weighted(0.1)), 0..5),
        address in (0..4_u8, 0..4_u8),
        is_mapped in any::<bool>(),
    ) {
        let (store, mut cache) = SharedCache::new();
        for (number, (pods, own, length, is_unreadable)) in nodes.into_iter().enumerate() {
            let range = format!("10.0.{pods}.0/{length}");
            let node = json!({
                "metadata": {"name": format!("n{number}")},
                "spec": {"podCIDRs": if is_unreadable { json!(7) } else { json!([range]) }},
                "status": {"addresses": [
                    {"type": "InternalIP", "address": format!("10.0.9.{own}")},
                    {"type": "InternalIP", "address": format!("::ffff:10.0.8.{own}")},
                ]},
            });
            cache.apply(Event::Apply(serde_json::from_value(node).unwrap()));
        }
        let (third, last) = address;
        for third in [third, 8, 9] {
            let mapped = if is_mapped { "::ffff:" } else { "" };
            let address: IpAddr = format!("{mapped}10.0.{third}.{last}").parse().unwrap();
            let host = Host::Ip(address);
            let forbidden = |nodes: Vec<Arc<Guarded<Node>>>| {
                let ranges: Result<Vec<_>, Obstacle> = nodes.iter().map(|node| Ok(of_node(node)?.collect::<Vec<_>>())).collect();
                let ranges = ranges.map_err(|obstacle| obstacle.reason)?;
                let everywhere = AllowedNetworks::new(["0.0.0.0/0".parse().unwrap()]);
                Ok::<_, Reason>(everywhere.without(&host, ranges.into_iter().flatten()).check(address))
            };
            prop_assert_eq!(forbidden(that_matter(&store, &host)), forbidden(store.all()));
        }
    }
}
