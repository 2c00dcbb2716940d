use std::collections::BTreeMap;

use super::*;

fn redactor(password: &str) -> Redactor {
    let secret = BTreeMap::from([("username".to_owned(), "root"), ("password".to_owned(), password)]);
    Redactor::new(&Credentials::from_secret(&secret, "1").unwrap())
}

#[test]
fn no_half_of_a_secret_is_left_where_a_long_text_is_cut() {
    for length in [5, 8, 20, 64, 200, 256] {
        let password = "s3cr3t-".repeat(40)[..length].to_owned();
        let redactor = redactor(&password);
        for shift in 0..length {
            let text = format!("{}{}", ".".repeat(shift), password.repeat(40_000 / length));
            let shown = redactor.clean(&text);
            assert!(!shown.contains("s3c"), "{length} {shift}: {shown}");
            assert_eq!(shown.chars().count(), MAX_TEXT);
        }
    }
}
