use super::*;

fn read(pairs: &[(&str, &[u8])]) -> Result<Credentials, CredentialsError> {
    let data = pairs
        .iter()
        .map(|(key, bytes)| ((*key).to_owned(), bytes.to_vec()))
        .collect();
    Credentials::from_secret(&data, "7")
}

#[test]
fn both_keys_are_needed_and_trimmed() {
    let credentials = read(&[("username", b" root\n"), ("password", b"\tcanary word \r\n")]).unwrap();
    assert_eq!(
        (credentials.username.as_str(), credentials.password.as_str()),
        ("root", "canary word")
    );
    assert!(!format!("{credentials:?}").contains("canary"));
}

#[test]
fn errors_name_the_key_and_not_the_value() {
    let good: (&str, &[u8]) = ("username", b"root");
    let long = [b'x'; 257];
    for (pairs, expected) in [
        (vec![], CredentialsError::Missing("username")),
        (vec![good], CredentialsError::Missing("password")),
        (
            vec![good, ("password", b" \n" as &[u8])],
            CredentialsError::Empty("password"),
        ),
        (
            vec![good, ("password", b"canary\xff")],
            CredentialsError::NotText("password"),
        ),
        (
            vec![good, ("password", b"canary\ncanary")],
            CredentialsError::Characters("password"),
        ),
        (
            vec![good, ("password", &long)],
            CredentialsError::TooLong("password"),
        ),
        (
            vec![("username", b"a:b")],
            CredentialsError::Characters("username"),
        ),
    ] {
        let error = read(&pairs).unwrap_err();
        assert_eq!(error, expected);
        let text = error.to_string();
        assert!(text.ends_with('.') && !text.contains("canary"), "{text}");
    }
}
