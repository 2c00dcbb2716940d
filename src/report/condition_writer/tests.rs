use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::*;

fn object(version: &str) -> ObjectMeta {
    ObjectMeta {
        uid: Some("one".to_owned()),
        resource_version: Some(version.to_owned()),
        ..ObjectMeta::default()
    }
}

#[test]
fn a_cache_that_lags_behind_is_not_believed_and_one_that_caught_up_is() {
    let condition = Condition {
        type_: "Ready".to_owned(),
        status: "True".to_owned(),
        reason: "BmcReady".to_owned(),
        message: String::new(),
        last_transition_time: Time(jiff::Timestamp::UNIX_EPOCH),
        observed_generation: None,
    };
    let stated = ConditionWriter::new(Clock::start());
    stated.note(&object("9"), vec![condition.clone()]);
    assert_eq!(stated.newest(&object("8"), &[]), [condition]);
    assert_eq!(stated.newest(&object("10"), &[]), []);
    assert_eq!(stated.newest(&object("8"), &[]), [], "it has caught up once");
}
