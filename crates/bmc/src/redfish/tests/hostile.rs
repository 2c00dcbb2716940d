//! BMCs that hang, break off, lie about where things are, or are no BMCs.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket};

use super::*;
use crate::LONGEST_SESSION;

/// A clear-text server that plays one script per connection: for each request it gets, one
/// literal answer; after the last, it closes. Returns what it read, connection by connection.
async fn scripted(scripts: Vec<Vec<String>>) -> (SocketAddr, Arc<Mutex<Vec<Vec<String>>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    tokio::spawn(async move {
        for script in scripts {
            let (mut stream, _) = listener.accept().await.unwrap();
            log.lock().unwrap().push(Vec::new());
            let mut buffer = vec![0; 8192];
            for answer in script {
                let length = stream.read(&mut buffer).await.unwrap_or(0);
                let request = String::from_utf8_lossy(&buffer[..length]).into_owned();
                let line = request.lines().next().unwrap_or_default().to_owned();
                log.lock().unwrap().last_mut().unwrap().push(line);
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        }
    });
    (address, seen)
}

pub(super) fn plain(address: SocketAddr) -> BmcTarget {
    let mut plain = target(address, "", PATH);
    plain.address = format!("redfish+http://{address}{PATH}").parse().unwrap();
    plain.minimum_transport = TransportSecurity::PlainHttp;
    plain
}

fn ok(body: &Value) -> String {
    let body = body.to_string();
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

fn posts(seen: &Mutex<Vec<Vec<String>>>) -> usize {
    let seen = seen.lock().unwrap();
    let lines = seen.iter().flatten();
    lines.filter(|line| line.starts_with("POST")).count()
}

/// Requests on each connection.
fn requests(seen: &Mutex<Vec<Vec<String>>>) -> Vec<usize> {
    seen.lock().unwrap().iter().map(Vec::len).collect()
}

#[tokio::test]
async fn a_dropped_command_is_of_unknown_outcome_and_sent_once() {
    // Dropped without a word, with half a status line, and with nonsense.
    for end in ["", "HTTP/1.1 20", "\x16\x03\x01 nonsense\r\n\r\n"] {
        let (address, seen) = scripted(vec![
            vec![ok(&system("On")), end.to_owned()],
            vec![ok(&system("Off"))],
        ])
        .await;
        let mut bmc = connect(plain(address)).await;
        bmc.read().await.unwrap();
        let error = bmc.command(Verb::PowerOff, soon()).await.unwrap_err();
        assert!(error.may_have_been_executed() && error.is_transient(), "{error}");
        assert_fit_to_show(&error);
        assert_eq!(posts(&seen), 1);
        bmc.read().await.unwrap();
        assert_eq!((posts(&seen), requests(&seen)), (1, vec![2, 1]));
    }
}

#[tokio::test]
async fn a_status_line_acknowledges_even_if_the_body_breaks_off() {
    let broken = "HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{".to_owned();
    let (address, seen) = scripted(vec![vec![ok(&system("On")), broken]]).await;
    let mut bmc = connect(plain(address)).await;
    bmc.read().await.unwrap();
    assert!(matches!(
        bmc.command(Verb::PowerOff, soon()).await,
        Ok(crate::CommandAnswer::Accepted)
    ));
    assert_eq!(posts(&seen), 1);
}

#[tokio::test]
async fn a_read_is_sent_again_over_a_new_connection_once() {
    // The second request of the first connection is read and then the connection is closed.
    let on = ok(&system("On"));
    let (address, seen) = scripted(vec![vec![on.clone(), String::new()], vec![on.clone()]]).await;
    let mut bmc = connect(plain(address)).await;
    bmc.read().await.unwrap();
    bmc.read().await.unwrap();
    assert_eq!(requests(&seen), [2, 1]);
    // On a fresh connection there is no second try.
    let (address, seen) = scripted(vec![vec![String::new()], vec![on]]).await;
    let mut bmc = connect(plain(address)).await;
    assert_eq!(bmc.read().await.unwrap_err().reason(), "BmcUnreachable");
    assert_eq!(requests(&seen), [1]);
}

#[tokio::test]
async fn a_bmc_that_closes_after_every_answer_is_served() {
    // As sushy-emulator does.
    let closing = |body: &Value| ok(body).replace("200 OK\r\n", "200 OK\r\nconnection: close\r\n");
    let scripts = ["On", "Off", "Off", "On", "On"].map(|power| vec![closing(&system(power))]);
    let (address, seen) = scripted(scripts.to_vec()).await;
    let mut bmc = connect(plain(address)).await;
    bmc.read().await.unwrap();
    bmc.command(Verb::PowerOff, soon()).await.unwrap();
    bmc.read().await.unwrap();
    bmc.command(Verb::PowerOn, soon()).await.unwrap();
    bmc.read().await.unwrap();
    assert_eq!((posts(&seen), requests(&seen)), (2, vec![1; 5]));
}

#[tokio::test]
async fn a_refused_connection_is_certainly_not_executed() {
    // Bound, so that nobody else gets the port, and not listened on.
    let nobody = TcpSocket::new_v4().unwrap();
    nobody.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = nobody.local_addr().unwrap();
    let error = connect(plain(address)).await.read().await.unwrap_err();
    assert!(matches!(error, BmcError::Unreachable(_)) && !error.may_have_been_executed());
    assert_fit_to_show(&error);
}

#[tokio::test]
async fn large_bodies_are_refused() {
    let fake = Fake::start(|_| reply(200, &[], &format!("{{\"x\":\"{}\"}}", "y".repeat(2 << 20)))).await;
    assert_eq!(
        connect(of(&fake)).await.read().await.unwrap_err().reason(),
        "BmcAnswerTooLarge"
    );
    // And without a length.
    let chunk = format!("10000\r\n{}\r\n", "y".repeat(0x10000));
    let endless = format!(
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{}",
        chunk.repeat(20)
    );
    let (address, _) = scripted(vec![vec![endless]]).await;
    assert_eq!(
        connect(plain(address)).await.read().await.unwrap_err().reason(),
        "BmcAnswerTooLarge"
    );
}

/// A clear-text server that answers with this, and then with the other over and over.
async fn endless(begin: &'static str, piece: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut buffer = vec![0; 8192];
        let _ = stream.read(&mut buffer).await.unwrap();
        stream.write_all(begin.as_bytes()).await.unwrap();
        let pieces = piece.repeat(1000);
        while stream.write_all(pieces.as_bytes()).await.is_ok() {}
    });
    address
}

#[tokio::test]
async fn what_never_becomes_an_answer_is_not_read_without_end() {
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    for (begin, piece) in [
        ("", "HTTP/1.1 100 Continue\r\n\r\n"),
        ("", "HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n"),
        (chunked, "0000"),
    ] {
        let target = plain(endless(begin, piece).await);
        let error = connect(target).await.read().await.unwrap_err();
        assert_eq!(error.reason(), "BmcUnreachable");
        assert!(
            error.to_string().contains("it sent more than"),
            "{piece:?}: {error}"
        );
        assert_fit_to_show(&error);
    }
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let elsewhere = Fake::start(well_behaved()).await;
    let away = format!("https://{}{PATH}", elsewhere.address);
    for (to, shown) in [
        (away, "another place"),
        ("/redfish/v1/Systems/uuid".to_owned(), "/redfish/v1/Systems/uuid"),
    ] {
        let fake = Fake::start(move |_| reply(307, &[("location", to.as_str())], "<html></html>")).await;
        let error = connect(of(&fake)).await.read().await.unwrap_err();
        assert_eq!(error, BmcError::Redirected(307, shown.to_owned()));
        assert_fit_to_show(&error);
        assert_eq!((fake.log().len(), elsewhere.accepted()), (1, 0));
    }
}

#[tokio::test]
async fn what_is_not_redfish_is_called_so() {
    for body in [
        "<!DOCTYPE html><title>Login</title>",
        "",
        "[]",
        "\"Off\"",
        "{\"PowerState\":\"Off\"",
    ] {
        let fake = Fake::start(move |_| reply(200, &[], body)).await;
        let error = connect(of(&fake)).await.read().await.unwrap_err();
        assert_eq!(error.reason(), "BmcNotRedfish", "{body}");
        assert_fit_to_show(&error);
    }
    let (address, _) = scripted(vec![vec!["SSH-2.0-OpenSSH\r\n\r\n".to_owned()]]).await;
    assert_eq!(
        connect(plain(address)).await.read().await.unwrap_err().reason(),
        "BmcNotRedfish"
    );
    let (address, _) = scripted(vec![vec!["HTTP/1.1 400 Bad Request\r\n\r\n".to_owned()]]).await;
    let error = connect(target(address, &Fake::start(|_| None).await.authority, PATH))
        .await
        .read()
        .await
        .unwrap_err();
    assert_eq!(error.reason(), "BmcTlsFailed", "{error}");
    let fake = Fake::start(|_| answer(200, &json!({"error": {"code": "x"}, "PowerState": "Off"}))).await;
    assert_eq!(
        connect(of(&fake)).await.read().await.unwrap_err().reason(),
        "BmcHttpError"
    );
}

#[tokio::test]
async fn references_to_other_places_are_not_used() {
    let elsewhere = Fake::start(well_behaved()).await;
    let away = format!("https://{}", elsewhere.address);
    for reset in [
        format!("{away}{RESET}"),
        format!("//{}{RESET}", elsewhere.address),
        "/redfish/v1/../../x".to_owned(),
        "Actions/ComputerSystem.Reset".to_owned(),
        "/x y".to_owned(),
        "/x\r\nX-Injected: 1".to_owned(),
    ] {
        let fake = Fake::start(move |_| {
            let mut system = system("On");
            system["Actions"]["#ComputerSystem.Reset"]["target"] = json!(reset);
            answer(200, &system)
        })
        .await;
        let mut bmc = connect(of(&fake)).await;
        bmc.read().await.unwrap();
        let error = bmc.command(Verb::PowerOff, soon()).await.unwrap_err();
        assert_eq!(error.reason(), "BmcForeignReference");
        assert_fit_to_show(&error);
        assert_eq!(fake.log().len(), 1);
    }
    let member = format!("{away}{PATH}");
    let fake = Fake::start(move |_| answer(200, &json!({"Members": [{"@odata.id": member}]}))).await;
    let error = connect(target(fake.address, &fake.authority, "/"))
        .await
        .read()
        .await
        .unwrap_err();
    assert_eq!(error.reason(), "BmcForeignReference");
    assert_eq!(elsewhere.accepted(), 0);
}

#[tokio::test]
async fn a_session_elsewhere_is_not_ended_there() {
    let elsewhere = Fake::start(well_behaved()).await;
    let place = format!(
        "https://{}/redfish/v1/SessionService/Sessions/7",
        elsewhere.address
    );
    let inner = well_behaved();
    let fake = Fake::start(move |seen: Seen| {
        if seen.path.ends_with("/Sessions") {
            reply(
                201,
                &[("x-auth-token", TOKEN), ("location", place.as_str())],
                "{}",
            )
        } else {
            inner(seen)
        }
    })
    .await;
    let mut bmc = connect(BmcTarget {
        auth: AuthMethod::Session,
        ..of(&fake)
    })
    .await;
    bmc.read().await.unwrap();
    let error = bmc.close().await.unwrap_err();
    assert_eq!(error.reason(), "BmcForeignReference");
    assert_fit_to_show(&error);
    assert_eq!((fake.log().len(), elsewhere.accepted()), (2, 0));
}

#[tokio::test]
async fn a_session_at_an_overlong_place_is_ended_but_not_kept_for_a_successor() {
    for (length, kept) in [(LONGEST_SESSION, true), (LONGEST_SESSION + 1, false)] {
        let mut place = "/redfish/v1/SessionService/Sessions/".to_owned();
        place.push_str(&"7".repeat(length - place.len()));
        let (inner, told) = (well_behaved(), place.clone());
        let fake = Fake::start(move |seen: Seen| {
            if seen.path.ends_with("/Sessions") {
                let headers = [("x-auth-token", TOKEN), ("location", told.as_str())];
                reply(201, &headers, "{}")
            } else {
                inner(seen)
            }
        })
        .await;
        let mut bmc = connect(BmcTarget {
            auth: AuthMethod::Session,
            ..of(&fake)
        })
        .await;
        let reading = bmc.read().await.unwrap();
        assert_eq!(reading.session, kept.then(|| place.clone()));
        bmc.close().await.unwrap();
        assert_eq!(fake.log().last(), Some(&format!("DELETE {place}")));
    }
}

#[tokio::test]
async fn only_a_session_is_ended_as_one() {
    let fake = Fake::start(well_behaved()).await;
    let mut bmc = connect(of(&fake)).await;
    for other in [
        "/redfish/v1/Systems/1/Storage/1/Volumes/1",
        "/redfish/v1/AccountService/Accounts/3",
        "/redfish/v1/SessionService/Sessions",
        "/redfish/v1/AccountService/Accounts/3?/Sessions/7",
        "/redfish/v1/Sessions/..%2f..%2fAccountService%2fAccounts%2f3",
    ] {
        let error = bmc.end_session(other).await.unwrap_err();
        assert_eq!(error.reason(), "BmcForeignReference", "{other}");
    }
    assert_eq!(fake.log(), [""; 0]);
    assert_eq!(
        bmc.end_session("/redfish/v1/SessionService/Sessions/7").await,
        Ok(true)
    );
    assert_eq!(fake.log(), ["DELETE /redfish/v1/SessionService/Sessions/7"]);
}

#[tokio::test]
async fn an_absolute_location_on_the_same_bmc_is_used() {
    let inner = well_behaved();
    let place = Arc::new(Mutex::new(String::new()));
    let told = Arc::clone(&place);
    let fake = Fake::start(move |seen: Seen| {
        if seen.path.ends_with("/Sessions") {
            let place = told.lock().unwrap().clone();
            reply(
                201,
                &[("x-auth-token", TOKEN), ("location", place.as_str())],
                "{}",
            )
        } else {
            inner(seen)
        }
    })
    .await;
    *place.lock().unwrap() = format!("https://{}/redfish/v1/SessionService/Sessions/7", fake.address);
    let mut bmc = connect(BmcTarget {
        auth: AuthMethod::Session,
        ..of(&fake)
    })
    .await;
    bmc.read().await.unwrap();
    bmc.close().await.unwrap();
    assert_eq!(fake.log()[2], "DELETE /redfish/v1/SessionService/Sessions/7");
}
