//! `remediation.medik8s.io/v1alpha1`, when a check asks for nothing although Nodes are unhealthy.
//! Source: medik8s/node-healthcheck-operator `internal/controller/nodehealthcheck_controller.go`,
//! `internal/controller/mhc/checker.go`.

use super::node_checks::{NodeScene, asked_for, assessed, node, nodes, of_first};
use super::objects::{condition, summary};
use crate::health::dialect::Dialect;
use crate::health::limit::IntOrText;
use crate::health::node_health_check::assess::{EXCLUDED_LABEL, Held, NodesStopped};
use crate::health::node_health_check::rivals::Rivals;

#[test]
fn exclusion() {
    for (row, value, excluded) in [
        ("only that value", "true", true),
        ("empty", "", false),
        ("false", "false", false),
        ("written otherwise", "True", false),
    ] {
        let assessment = assessed(|scene| {
            let label = (EXCLUDED_LABEL.to_owned(), value.to_owned());
            scene.nodes[0].labels.extend([label]);
        });
        assert!(
            of_first(&assessment).is_unhealthy(),
            "{row}: it counts all the same"
        );
        assert_eq!(
            assessment.nodes[0].held,
            excluded.then_some(Held::Excluded),
            "{row}"
        );
        assert_eq!(asked_for(&assessment).is_empty(), excluded, "{row}");
    }
}

/// An aspect, what is changed for it, and what stops the check.
type Stops = (&'static str, fn(&mut NodeScene), NodesStopped);

#[test]
fn whole_pass_skipped() {
    let cases: [Stops; 5] = [
        (
            "ClusterVersion Progressing=True",
            |scene| scene.around.upgrading = true,
            NodesStopped::Upgrading,
        ),
        (
            "currentConfig != desiredConfig",
            |scene| scene.nodes[0].changes_config = true,
            NodesStopped::Upgrading,
        ),
        (
            "pauseRequests not empty",
            |scene| scene.rules.paused = true,
            NodesStopped::Paused,
        ),
        (
            "an upgrade is told before a pause, and both before the threshold",
            |scene| {
                scene.rules.paused = true;
                scene.around.upgrading = true;
                scene.nodes = nodes(4, 4);
            },
            NodesStopped::Upgrading,
        ),
        (
            "disabled by MachineHealthChecks, before anything is looked at",
            |scene| {
                scene.around.upgrading = true;
                scene.around.rivals = Rivals::Others;
            },
            NodesStopped::Disabled,
        ),
    ];
    for (row, edit, expected) in cases {
        let assessment = assessed(edit);
        assert!(asked_for(&assessment).is_empty(), "{row}");
        assert_eq!(assessment.stopped.as_ref(), Some(&expected), "{row}");
        assert!(expected.keeps_requests(), "{row}: before requests are deleted");
    }
    let elsewhere = assessed(|scene| scene.nodes[3].changes_config = true);
    assert_eq!(
        asked_for(&elsewhere),
        ["n00"],
        "only unhealthy Nodes are looked at for it"
    );
}

#[test]
fn control_plane() {
    let masters = |scene: &mut NodeScene| {
        scene.rules.max_unhealthy = Some(IntOrText::Text("100%".to_owned()));
        scene.nodes = nodes(4, 3);
        for master in &mut scene.nodes[..2] {
            master.control_plane = true;
        }
    };
    let assessment = assessed(masters);
    assert_eq!(
        asked_for(&assessment),
        ["n00", "n02"],
        "one at a time, and workers beside it"
    );
    assert_eq!(
        assessment.nodes[1].held,
        Some(Held::ControlPlane("n00".to_owned()))
    );
    let assessment = assessed(|scene| {
        masters(scene);
        scene.nodes[1].requested = true;
    });
    assert_eq!(
        asked_for(&assessment),
        ["n02"],
        "the one that has a request stands in the way of others"
    );
    let why: Vec<_> = assessment.nodes.iter().map(|one| one.held.clone()).collect();
    let other = Held::ControlPlane("n01".to_owned());
    assert_eq!(why, [Some(other), Some(Held::Requested), None, None]);
    let assessment = assessed(|scene| {
        masters(scene);
        scene.nodes[1] = node("n01");
        (scene.nodes[1].control_plane, scene.nodes[1].requested) = (true, true);
    });
    assert_eq!(
        asked_for(&assessment),
        ["n02"],
        "also while a recovered one still has its request"
    );
}

#[test]
fn machine_health_checks() {
    for (row, types, expected) in [
        ("none", vec![], Rivals::None),
        (
            "the default one",
            vec![vec!["Terminating"]],
            Rivals::TerminationHandler,
        ),
        ("the default one, modified", vec![vec!["Ready"]], Rivals::Others),
        (
            "the default one, added to",
            vec![vec!["Terminating", "Ready"]],
            Rivals::Others,
        ),
        ("without conditions", vec![vec![]], Rivals::Others),
        (
            "two of the default one",
            vec![vec!["Terminating"], vec!["Terminating"]],
            Rivals::Others,
        ),
    ] {
        assert_eq!(Rivals::of(types), expected, "{row}");
    }
    for (row, rivals, said) in [
        ("nobody else is there", Rivals::None, "unhealthy: UnhealthyNode"),
        (
            "left to the termination handler",
            Rivals::TerminationHandler,
            "healthy",
        ),
    ] {
        let assessment = assessed(|scene| {
            scene.around.rivals = rivals;
            let listed = scene.nodes[0].conditions.as_mut().unwrap();
            listed.push(condition("Terminating", "False", 1));
        });
        assert_eq!(summary(Dialect::OpenShift, of_first(&assessment)), said, "{row}");
    }
    let in_grace = assessed(|scene| {
        scene.around.rivals = Rivals::TerminationHandler;
        let listed = vec![
            condition("Ready", "False", 100),
            condition("Terminating", "True", 1),
        ];
        scene.nodes[0].conditions = Ok(listed);
    });
    assert_eq!(
        summary(Dialect::OpenShift, of_first(&in_grace)),
        "waiting: Grace until after 200 s",
        "only an unhealthy Node is left to it"
    );
}
