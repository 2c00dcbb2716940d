use super::*;

#[test]
fn errors_are_found_in_every_shape() {
    let hpe = br#"{"error":{"code":"iLO.0.10.ExtendedInfo","@Message.ExtendedInfo":[{"MessageId":"Base.1.18.Success"}]}}"#;
    assert!(!Messages::of(hpe).denies_success());
    for (body, denies, already, ready) in [
        (&br#"{"error":{}}"#[..], true, false, true),
        (br#"{"error":{"@Message.ExtendedInfo":{"MessageId":"IDRAC.2.8.PSU501","Message":"The server is ALREADY off."}}}"#, true, true, true),
        (br#"{"error":{"@Message.ExtendedInfo":{"MessageId":"x.Y","Message":"A firmware update is already running."}}}"#, true, false, true),
        (br#"{"error":{"@Message.ExtendedInfo":[{"MessageId":"IDRAC.2.8.SYS518"}]}}"#, true, false, false),
        (br#"{"@Message.ExtendedInfo":[{"MessageId":"Base.1.0.Success"}]}"#, false, false, true),
        (br#"{"error":{"@Message.ExtendedInfo":[{"MessageId":"Base.1.9.NoOperation"}]}}"#, false, true, true),
        (br#"{"error":"text"}"#, true, false, true),
        (b"<html>already</html>", false, false, true),
        (b"", false, false, true),
        (b"[]", false, false, true),
    ] {
        let said = Messages::of(body);
        let shown = String::from_utf8_lossy(body);
        assert_eq!(said.denies_success(), denies, "{shown}");
        assert_eq!(said.says_already(), already, "{shown}");
        assert_eq!(!said.says_not_ready(), ready, "{shown}");
    }
}
