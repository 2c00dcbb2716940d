use std::time::Duration;

use bmc_simulator::{BootSequence, Event, Fault, Fleet, HostSpec, Outcome, Power, Simulator, Stage};
use serde_json::{Value, json};

use super::events::open;
use super::{pass, send};
use crate::client::{Client, header, listens, one, soon, status};

#[tokio::test]
async fn a_stuck_task_runs_until_the_bmc_restarts_whatever_the_machine_does() {
    let at_once = BootSequence {
        dead: Duration::ZERO,
        not_ready: Duration::ZERO,
        rejecting: Duration::ZERO,
        sporadic: Duration::ZERO,
    };
    for executes in [true, false] {
        let (_sim, host) = one(HostSpec::new("a").bmc_boot(at_once)).await;
        let client = Client::of(&host);
        host.inject(Fault::StuckTask { executes }.times(1)).unwrap();
        let accepted = client.reset("ForceOff").send().await.unwrap();
        let monitor = header(&accepted, "Location");
        let task: Value = accepted.json().await.unwrap();
        let expected = if executes { Power::Off } else { Power::On };
        assert_eq!(host.truth().power, expected);
        pass(Duration::from_hours(24)).await;
        assert_eq!(status(client.get(&monitor)).await, 202);
        let running = client.read(task["@odata.id"].as_str().unwrap()).await;
        assert_eq!(running["TaskState"], "Running");
        assert!(running.get("TaskStatus").is_none(), "{running}");
        // Others are as ever.
        assert_eq!(client.send_reset("ForceOff").await, 204);
        assert_eq!(host.truth().power, Power::Off);
        host.reboot_bmc();
        soon(host.wait_for(|now| now.bmc == Stage::Up)).await.unwrap();
        listens(&host).await;
        assert_eq!(status(client.get(&monitor)).await, 404);
    }
}

#[tokio::test]
async fn a_failed_task_ends_at_its_time_and_the_machine_stays_as_it_is() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    let after = Duration::from_secs(3);
    host.inject(Fault::FailedTask { after }.times(1)).unwrap();
    let accepted = client.reset("ForceOff").send().await.unwrap();
    assert_eq!(
        (accepted.status().as_u16(), header(&accepted, "Retry-After")),
        (202, "1".to_owned())
    );
    let monitor = header(&accepted, "Location");
    let task: Value = accepted.json().await.unwrap();
    assert_eq!(task["TaskState"], "Running");
    assert_eq!(status(client.get(&monitor)).await, 202);

    pass(after).await;
    let (found, error) = send(client.get(&monitor)).await;
    assert_eq!(
        (found, &error["error"]["code"]),
        (500, &json!("Base.1.19.InternalError"))
    );
    let failed = client.read(task["@odata.id"].as_str().unwrap()).await;
    assert_eq!(
        (
            &failed["TaskState"],
            &failed["TaskStatus"],
            &failed["Messages"][0]["MessageId"]
        ),
        (
            &json!("Exception"),
            &json!("Critical"),
            &json!("TaskEvent.1.0.TaskAborted")
        )
    );
    assert_eq!(host.truth().power, Power::On);
    let ignored = |event: &Event| {
        matches!(
            event,
            Event::Command {
                outcome: Outcome::Ignored,
                ..
            }
        )
    };
    assert!(host.journal().iter().any(|entry| ignored(&entry.event)));
}

#[tokio::test]
async fn the_end_of_a_failed_task_is_told_when_it_comes() {
    let (_sim, host) = one(HostSpec::new("a")).await;
    let client = Client::of(&host);
    let after = Duration::from_secs(3);
    host.inject(Fault::FailedTask { after }).unwrap();
    let mut stream = open(&client).await;
    assert_eq!(client.send_reset("ForceOff").await, 202);
    // Nobody asks for the task: the news comes by itself.
    let mut told = String::new();
    while !told.contains("TaskEvent.1.0.TaskAborted") {
        told.push_str(&String::from_utf8_lossy(
            &soon(stream.chunk()).await.unwrap().unwrap(),
        ));
    }
}

#[tokio::test]
async fn faults_of_tasks_can_be_had_from_a_file_and_over_the_control_api() {
    let file = "control: 127.0.0.1:0
hosts:
  - name: a
    faults: [{fault: {stuck-task: {executes: true}}, times: 1}]
";
    let fleet = Fleet::from_yaml(file).unwrap();
    let sim = Simulator::builder().fleet(fleet).start().await.unwrap();
    let host = sim.hosts()[0].clone();
    let client = Client::of(&host);
    assert_eq!(host.faults(), [Fault::StuckTask { executes: true }.times(1)]);
    assert_eq!(client.send_reset("GracefulShutdown").await, 202);
    assert_eq!(client.send_reset("GracefulShutdown").await, 204);

    let put = |body: &'static str| {
        let url = format!("{}/hosts/a/faults", sim.control_url().unwrap());
        send(client.http.put(url).body(body))
    };
    let (taken, _) = put(r#"[{"fault":{"failed-task":{"after":"0s"}},"system":"1"}]"#).await;
    assert_eq!((taken, client.send_reset("GracefulShutdown").await), (200, 202));
    let task = client.read("/redfish/v1/TaskService/Tasks/2").await;
    assert_eq!(task["TaskState"], "Exception");
    let (refused, told) = put(r#"[{"fault":{"stuck-task":{"executes":1}}}]"#).await;
    let field = &told["error"]["field"];
    assert_eq!(
        (refused, field),
        (400, &json!("[0].fault.stuck-task.executes")),
        "{told}"
    );
}
