use serde_json::json;

use super::compare;

#[test]
fn a_field_that_is_not_served_is_named_with_its_path() {
    let leaf = json!({"type": "string"});
    let ours = json!({"properties": {"status": {"properties": {
        "reads": {"items": {"properties": {"said": leaf, "began": leaf}}}, "phase": leaf,
    }}}});
    let served = json!({"properties": {"status": {"properties": {
        "reads": {"items": {"properties": {"said": leaf}}}, "phase": leaf, "more": leaf,
    }}}});
    let mut missing = Vec::new();

    compare("Kind", &ours, &served, &mut missing);

    assert_eq!(missing, ["Kind.status.reads[].began"]);
}
