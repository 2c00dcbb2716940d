//! The IPMI driver against BMCs that we did not write: OpenIPMI's ipmi_sim and pyghmi's server.

mod peer;

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use peer::{PASSWORD, Peer, USERNAME, UUID};
use remediator_bmc::{
    AllowedNetworks, AuthMethod, Bmc, BmcError, BmcTarget, CommandAnswer, Credentials, Login, PowerRead,
    Protocol, ServerTrust, TransportSecurity, Verb,
};
use remediator_core::identity::SystemUuid;
use remediator_core::power::PowerState;
use tokio::time::{Instant, sleep, timeout};

/// These BMCs start quickly and do what they are told at once; time is for slow machines.
const LONG: Duration = Duration::from_mins(1);

async fn connect(peer: &Peer, username: &str, password: &str) -> Result<Bmc> {
    let secret = BTreeMap::from([
        ("username".to_owned(), username),
        ("password".to_owned(), password),
    ]);
    let target = BmcTarget {
        address: format!("ipmi://{}", peer.address).parse()?,
        credentials: Credentials::from_secret(&secret, "1")?,
        trust: ServerTrust::SystemRoots,
        auth: AuthMethod::Auto,
        expected_uuid: SystemUuid::parse(UUID).ok(),
        known_system: None,
        allowed: AllowedNetworks::new(["127.0.0.0/8".parse()?]),
        protocols: vec![Protocol::Ipmi],
        fallback: None,
        minimum_transport: TransportSecurity::VerifiedTls,
    };
    Ok(Bmc::connect(target).await?)
}

/// Reads until the BMC says this; at first it may not answer, because it is starting.
async fn becomes(bmc: &mut Bmc, wanted: PowerState) -> Result<PowerRead> {
    let poll = async {
        loop {
            match bmc.read().await {
                Ok(reading) if reading.power == wanted => return Ok(reading),
                Err(error) if !error.is_transient() => return Err(error),
                Ok(_) | Err(_) => sleep(Duration::from_millis(100)).await,
            }
        }
    };
    let reading = timeout(LONG, poll).await.context("it took too long")?;
    Ok(reading?)
}

fn soon() -> Instant {
    let now = Instant::now();
    now.checked_add(LONG).unwrap_or(now)
}

async fn power_cycle(peer: Peer) -> Result<()> {
    let mut bmc = connect(&peer, USERNAME, PASSWORD).await?;
    let on = becomes(&mut bmc, PowerState::On).await?;
    let same = on.uuid.as_deref().and_then(|uuid| SystemUuid::parse(uuid).ok());
    ensure!(same == SystemUuid::parse(UUID).ok(), "{on:?}");
    ensure!(bmc.inspect().await?.login == Login::CipherSuite(3));
    for (command, wanted) in [("off", PowerState::Off), ("on", PowerState::On)] {
        let answer = match command {
            "off" => bmc.command(Verb::PowerOff, soon()).await?,
            _ => bmc.command(Verb::PowerOn, soon()).await?,
        };
        ensure!(matches!(answer, CommandAnswer::Accepted), "{answer:?}");
        becomes(&mut bmc, wanted).await?;
    }
    ensure!(bmc.close().await?, "there was a session");
    let log = peer.into_power_log()?;
    ensure!(log == [false, true], "{log:?}");
    Ok(())
}

/// What a login is answered with by a BMC that is up.
async fn refused(peer: &Peer, username: &str, password: &str) -> Result<BmcError> {
    let mut right = connect(peer, USERNAME, PASSWORD).await?;
    becomes(&mut right, PowerState::On).await?;
    ensure!(right.close().await?, "there was a session");
    let mut wrong = connect(peer, username, password).await?;
    wrong.read().await.err().context("it was let in")
}

#[tokio::test]
async fn a_host_behind_ipmi_sim_is_power_cycled() -> Result<()> {
    power_cycle(Peer::ipmi_sim()?).await
}

#[tokio::test]
async fn a_host_behind_pyghmi_is_power_cycled() -> Result<()> {
    power_cycle(Peer::pyghmi()?).await
}

#[tokio::test]
async fn wrong_credentials_are_told_from_a_silent_network() -> Result<()> {
    for peer in [Peer::ipmi_sim()?, Peer::pyghmi()?] {
        let error = refused(&peer, USERNAME, "wrong").await?;
        assert_eq!(error.reason(), "BmcCredentialsRejected", "{}: {error}", peer.name);
    }
    let peer = Peer::ipmi_sim()?;
    let error = refused(&peer, "nobody", PASSWORD).await?;
    assert_eq!(error.reason(), "BmcCredentialsRejected", "{error}");
    // pyghmi says nothing to a user name that it does not know.
    let peer = Peer::pyghmi()?;
    let error = refused(&peer, "nobody", PASSWORD).await?;
    assert_eq!(error.reason(), "BmcLoginUnanswered", "{error}");
    Ok(())
}

#[tokio::test]
async fn sessions_are_given_back() -> Result<()> {
    // ipmi_sim has 63 sessions: leaking one each time would end this.
    let peer = Peer::ipmi_sim()?;
    for _ in 0..80 {
        let mut bmc = connect(&peer, USERNAME, PASSWORD).await?;
        becomes(&mut bmc, PowerState::On).await?;
        ensure!(bmc.close().await?, "there was a session");
    }
    Ok(())
}
