use kube::runtime::watcher::Event;
use proptest::prelude::*;
use serde_json::json;

use crate::clock::Clock;
use remediator_core::identity::SystemUuid;

use crate::clusters::node_cluster::SharedLists;
use crate::clusters::node_of_host::*;
use crate::watch::lost_nodes::LostNodes;
use crate::watch::shared_cache::SharedCache;

const UUID: &str = "4c4c4544-0042-3510-8052-b4c04f4e3732";
const SWAPPED: &str = "44454C4C-4200-1035-8052-B4C04F4E3732";
const OTHER: &str = "4c4c4544-0042-3510-8052-b4c04f4e3733";

fn node(name: &str, uuid: &str) -> Guarded<Node> {
    let node = json!({
        "metadata": {"name": name, "annotations": {
            "cluster.x-k8s.io/machine": name, "cluster.x-k8s.io/cluster-namespace": "metal",
        }},
        "status": {"nodeInfo": {"systemUUID": uuid}},
    });
    serde_json::from_value(node).unwrap()
}

/// The Node that is told by the marks, found without an index.
fn among<'a>(
    nodes: impl Iterator<Item = &'a Guarded<Node>>,
    marks: &NodeIdentifiers,
    is_witness: impl Fn(&Node) -> bool,
) -> Lookup<facts::Node> {
    let (mut search, mut witnessed) = (Search::of(marks.clone()), false);
    for guarded in nodes {
        search.look_at(guarded);
        witnessed |= guarded.0.as_ref().is_ok_and(&is_witness);
    }
    search.ended(witnessed)
}

fn found(nodes: &[Guarded<Node>], witness: bool) -> Lookup<String> {
    let marks = NodeIdentifiers::of(SystemUuid::parse(UUID).unwrap(), None);
    among(nodes.iter(), &marks, |_| witness).map(|node| node.name)
}

#[test]
fn a_node_has_the_uuid_in_either_byte_order() {
    for uuid in [UUID, &UUID.to_uppercase(), SWAPPED] {
        let nodes = [node("other", OTHER), node("one", uuid), node("blank", "")];
        assert_eq!(found(&nodes, true), Lookup::Present("one".to_owned()), "{uuid}");
    }
}

#[test]
fn none_has_it_only_if_every_one_is_known_to_have_another() {
    assert_eq!(found(&[node("other", OTHER)], true), Lookup::Absent);
    for unknown in ["", "nonsense", "00000000-0000-0000-0000-000000000000"] {
        let nodes = [node("other", OTHER), node("blank", unknown), node("third", OTHER)];
        assert!(
            matches!(found(&nodes, true), Lookup::Unreadable(why) if why.contains("blank")),
            "{unknown:?}"
        );
    }
    let unreadable: Guarded<Node> =
        serde_json::from_value(json!({"metadata": {"name": "broken"}, "status": {"conditions": 7}})).unwrap();
    assert!(unreadable.0.is_err());
    assert!(
        matches!(found(&[node("other", OTHER), unreadable], true), Lookup::Unreadable(why) if why.contains("broken"))
    );
}

#[test]
fn nodes_of_nobody_knows_which_cluster_prove_nothing() {
    assert!(matches!(found(&[], true), Lookup::Unreadable(_)), "an empty list");
    assert!(matches!(
        found(&[node("other", OTHER)], false),
        Lookup::Unreadable(_)
    ));
    assert_eq!(
        found(&[node("one", UUID)], false),
        Lookup::Present("one".to_owned())
    );
}

fn machine_of(cluster: &str) -> Machine {
    use remediator_api::views::cluster_api::{FromClusterApi as _, Version};
    let object = json!({
        "metadata": {"name": "w", "namespace": "metal"}, "spec": {"clusterName": cluster},
    });
    let read = Machine::read(Version::V1Beta2, serde_json::from_value(object).unwrap());
    read.0.unwrap()
}

fn key(name: &str) -> ClusterKey {
    ClusterKey {
        namespace: "metal".to_owned(),
        name: name.to_owned(),
    }
}

#[test]
fn a_witness_belongs_to_a_machine_of_the_very_cluster() {
    let (machines, mut cache) = SharedCache::new();
    let (node, stranger) = (node("w", OTHER).0.unwrap(), node("x", OTHER).0.unwrap());
    let is_witness = |of: &str, node: &Node| is_witness(Some(&key(of)), &machines, node);
    assert!(!is_witness("blue", &node), "no Machine is known");
    cache.apply(Event::Apply(Guarded(Ok(machine_of("blue")))));
    assert!(is_witness("blue", &node));
    assert!(!is_witness("green", &node));
    assert!(!is_witness("blue", &stranger));
    assert!(
        crate::clusters::node_of_host::is_witness(None, &machines, &stranger),
        "the daemon's own cluster"
    );
}

/// A Lease is of a Node by its name, and that may be the name of another Node in another cluster.
#[tokio::test]
async fn the_lease_of_a_node_is_looked_for_where_that_very_node_is() {
    let cluster = |of: Option<&str>, uid: &str| {
        let (nodes, mut cache) = SharedCache::new();
        let node = json!({"metadata": {"name": "one", "uid": uid}});
        cache.apply(Event::Apply(serde_json::from_value(node).unwrap()));
        let config = kube::Config::new("http://127.0.0.1:1".parse().unwrap());
        NodeCluster {
            client: kube::Client::try_from(config).unwrap(),
            nodes,
            lost_nodes: LostNodes::new(Clock::start()),
            lists: SharedLists::new(),
            out_of_service_supported: true,
            of: of.map(key),
            uid: None,
        }
    };
    let clusters = [
        cluster(Some("blue"), "1"),
        cluster(Some("green"), "2"),
        cluster(None, "3"),
    ];
    for (uid, of) in [
        ("1", Some(Some(key("blue")))),
        ("2", Some(Some(key("green")))),
        ("3", Some(None)),
        ("4", None),
    ] {
        let node: Node = serde_json::from_value(json!({"metadata": {"name": "one", "uid": uid}})).unwrap();
        let found = holding(clusters.iter().cloned(), &node.facts());
        assert_eq!(found.map(|found| found.of), of, "{uid}");
    }
}

/// Where firmware tells the BMC another UUID than the operating system, the Node is still the Machine's.
#[test]
fn a_node_that_is_the_machines_in_any_other_way_is_its_host() {
    let machine = json!({
        "metadata": {"name": "worker-1", "namespace": "metal"}, "spec": {"providerID": "metal:///1"},
    });
    let machine: Machine = serde_json::from_value(machine).unwrap();
    let marks = NodeIdentifiers::of(SystemUuid::parse(UUID).unwrap(), Some(&machine));
    let node = |name: &str, link: &str, provider_id: &str| -> Guarded<Node> {
        let node = json!({
            "metadata": {"name": name, "annotations": {"machine.openshift.io/machine": link}},
            "spec": {"providerID": provider_id},
            "status": {"nodeInfo": {"systemUUID": OTHER}},
        });
        serde_json::from_value(node).unwrap()
    };
    for (what, node, is_its) in [
        ("its annotation", node("a", "metal/worker-1", ""), true),
        ("its name", node("worker-1", "", ""), true),
        ("its providerID", node("a", "", "metal:///1"), true),
        (
            "a Machine of another namespace",
            node("a", "other/worker-1", ""),
            false,
        ),
        ("another providerID", node("a", "", "metal:///2"), false),
        ("nothing", node("a", "", ""), false),
    ] {
        let nodes = [node];
        let found = among(nodes.iter(), &marks, |_| true);
        assert_eq!(matches!(found, Lookup::Present(_)), is_its, "{what}");
    }
}

fn any_node() -> impl Strategy<Value = Guarded<Node>> {
    let name = proptest::sample::select(&["a", "b", "c", "worker-1"][..]);
    let uuid = prop_oneof![
        6 => Just(OTHER), 1 => Just(UUID), 1 => Just(SWAPPED), 1 => Just("nonsense")
    ];
    let link = proptest::sample::select(&["", "metal/worker-1", "other/worker-1", "metal/worker-2"][..]);
    let provider = proptest::sample::select(&["", "metal:///1", "metal:///2"][..]);
    let is_unreadable = proptest::bool::weighted(0.1);
    (name, uuid, link, provider, is_unreadable).prop_map(|(name, uuid, link, provider, is_unreadable)| {
        let node = json!({
            "metadata": {"name": name, "annotations": {"machine.openshift.io/machine": link}},
            "spec": {"providerID": if is_unreadable { json!(7) } else { json!(provider) }},
            "status": {"nodeInfo": {"systemUUID": uuid}},
        });
        serde_json::from_value(node).unwrap()
    })
}

proptest! {
    /// No index hides a Node that forbids to power a host off.
    #[test]
    fn by_key_the_same_is_found_as_among_all_nodes(
        nodes in proptest::collection::vec(any_node(), 0..6),
        has_machine in any::<bool>(),
        has_provider in any::<bool>(),
    ) {
        let provider = has_provider.then_some("metal:///1");
        let machine = json!({
            "metadata": {"name": "worker-1", "namespace": "metal"}, "spec": {"providerID": provider},
        });
        let machine: Machine = serde_json::from_value(machine).unwrap();
        let marks = NodeIdentifiers::of(SystemUuid::parse(UUID).unwrap(), has_machine.then_some(&machine));
        let (store, mut cache) = SharedCache::new();
        for node in nodes {
            cache.apply(Event::Apply(node));
        }
        let all = store.all();
        let scanned = among(all.iter().map(AsRef::as_ref), &marks, |_| true);
        prop_assert_eq!(indexed(&store, &marks, !store.is_empty()), scanned);
    }
}
