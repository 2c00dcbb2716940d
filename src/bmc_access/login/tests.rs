use super::*;

#[test]
fn a_login_shows_the_keys_of_its_secret_and_no_value() {
    let value = |text: &str| ByteString(text.as_bytes().to_vec());
    let login = Login {
        secret: "metal/bmc".to_owned(),
        version: "7".to_owned(),
        metadata: ObjectMeta::default(),
        data: SecretData(BTreeMap::from([("password".to_owned(), value("canary"))])),
    };
    let shown = format!("{login:?}");
    assert!(
        shown.contains("metal/bmc") && shown.contains("password"),
        "{shown}"
    );
    assert!(!shown.contains("canary") && !shown.contains("99"), "{shown}");
}

#[test]
fn what_is_kept_of_a_secret_beside_its_values_quotes_none() {
    let secret = ObjectMeta {
        name: Some("bmc".to_owned()),
        annotations: Some(BTreeMap::from([(
            "kubectl.kubernetes.io/last-applied-configuration".to_owned(),
            "{\"stringData\": {\"password\": \"canary\"}}".to_owned(),
        )])),
        finalizers: Some(vec![keys::SECRET_FINALIZER.to_owned()]),
        ..ObjectMeta::default()
    };
    let kept = without_content(&secret);
    assert!(!format!("{kept:?}").contains("canary"), "{kept:?}");
    assert_eq!((kept.name, kept.finalizers), (secret.name, secret.finalizers));
}
