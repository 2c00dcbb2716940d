//! `TaskService`, `Task` and task monitors.

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use serde_json::{Value, json};

use super::{End, Task};
use crate::host::Acting;
use crate::redfish::body_of::{collection as collection_of, reference, resource, set};
use crate::redfish::message::{Base, Message, TaskEvent};
use crate::redfish::route::Route;
use crate::redfish::{Call, read, reply, schema};

pub(in crate::redfish) const SERVICE: &str = "/redfish/v1/TaskService";
const TASKS: &str = "/redfish/v1/TaskService/Tasks";
/// Seconds until a client should ask again.
const RETRY_AFTER: u64 = 1;

pub(super) fn uri(id: u64) -> String {
    format!("{TASKS}/{id}")
}

fn monitor_uri(id: u64) -> String {
    format!("{SERVICE}/TaskMonitors/{id}")
}

/// `/redfish/v1/TaskService`.
pub(in crate::redfish) fn service() -> Value {
    resource(
        schema::TASK_SERVICE,
        SERVICE,
        "TaskService",
        "Task Service",
        json!({
            "Status": {"State": "Enabled", "Health": "OK"},
            "ServiceEnabled": true,
            "CompletedTaskOverWritePolicy": "Oldest",
            "LifeCycleEventOnTaskStateChange": true,
            "Tasks": reference(TASKS),
        }),
    )
}

/// `/redfish/v1/TaskService/Tasks`.
pub(in crate::redfish) fn collection(acting: &Acting<'_>) -> Value {
    let tasks = acting.state.redfish.tasks.kept.iter();
    let uris = tasks.map(|task| uri(task.id));
    collection_of(schema::TASKS, TASKS, "Task Collection", uris)
}

/// `/redfish/v1/TaskService/Tasks/{id}`.
pub(in crate::redfish) fn member(acting: &Acting<'_>, id: u64) -> Option<Value> {
    Some(render(acting, acting.state.redfish.tasks.find(id)?))
}

fn render(acting: &Acting<'_>, task: &Task) -> Value {
    let id = task.id.to_string();
    let (state, percent, messages) = match task.end {
        None => ("Running", 0, vec![TaskEvent::Started.message(&id)]),
        Some(end @ End::Done(_)) => ("Completed", 100, vec![end.event().message(&id)]),
        Some(end @ End::Failed(_)) => {
            let why = Base::InternalError.message(&[]);
            ("Exception", 0, vec![end.event().message(&id), why])
        }
    };
    let messages: Vec<Value> = messages.iter().map(Message::to_json).collect();
    let mut body = resource(
        schema::TASK,
        &uri(task.id),
        &id,
        &format!("Reset {}", task.reset_type.as_str()),
        json!({
            "TaskState": state,
            "PercentComplete": percent,
            "StartTime": acting.date_time(task.started),
            "Messages": messages,
            "HidePayload": false,
            "Payload": {
                "TargetUri": task.target,
                "HttpOperation": "POST",
                "HttpHeaders": [],
                "JsonBody": json!({"ResetType": task.reset_type}).to_string(),
            },
        }),
    );
    let Some(end) = task.end else {
        set(&mut body, "TaskMonitor", json!(monitor_uri(task.id)));
        return body;
    };
    let (at, health) = match end {
        End::Done(at) => (at, "OK"),
        End::Failed(at) => (at, "Critical"),
    };
    set(&mut body, "EndTime", json!(acting.date_time(at)));
    // Not before it has ended (DSP0268, `Task.TaskStatus`).
    set(&mut body, "TaskStatus", json!(health));
    body
}

/// 202 with the task and where to ask for it.
pub(in crate::redfish) fn accepted(acting: &Acting<'_>, id: u64) -> Response<Body> {
    let Some(task) = read::tagged(acting, &Route::Task(id)) else {
        return reply::bare(StatusCode::ACCEPTED, Body::empty());
    };
    let mut response = reply::with_json(StatusCode::ACCEPTED, &task.body);
    reply::insert(&mut response, header::LOCATION, &monitor_uri(id));
    let seconds = HeaderValue::from(RETRY_AFTER);
    response.headers_mut().insert(header::RETRY_AFTER, seconds);
    response
}

/// GET of a task monitor: 202 while the task runs, then what the reset itself would have been answered.
pub(in crate::redfish) fn monitor(call: &Call<'_>, id: u64) -> Response<Body> {
    call.core.act(
        |acting| match acting.state.redfish.tasks.find(id).map(|task| task.end) {
            None => reply::not_found(call.path()),
            Some(None) => accepted(acting, id),
            Some(Some(End::Done(_))) => reply::no_content(),
            Some(Some(End::Failed(_))) => reply::error(
                StatusCode::INTERNAL_SERVER_ERROR,
                Base::InternalError.message(&[]),
            ),
        },
    )
}
