use super::*;

#[test]
fn a_login_shows_the_keys_of_its_secret_and_no_value() {
    let value = |text: &str| ByteString(text.as_bytes().to_vec());
    let login = Login {
        secret: "metal/bmc".to_owned(),
        version: "7".to_owned(),
        is_held: false,
        binding: Ok(Binding::default()),
        data: SecretData(BTreeMap::from([("password".to_owned(), value("canary"))])),
    };
    let shown = format!("{login:?}");
    assert!(
        shown.contains("metal/bmc") && shown.contains("password"),
        "{shown}"
    );
    assert!(!shown.contains("canary") && !shown.contains("99"), "{shown}");
}
