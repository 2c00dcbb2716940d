//! Whether the BMCEndpoint of a host still describes it, and alone, read live: all of them are listed, once for
//! everyone who asks at the same time.

use kube::ResourceExt as _;
use kube::api::{Api, ListParams};
use remediator_api::BMCEndpoint;
use remediator_api::guarded::Guarded;
use remediator_api::views::Machine;
use remediator_core::facts::{Host, Obstacle};

use crate::api_call::{ShellError, list};
use crate::snapshot::host;
use crate::snapshot::sources::{LISTING_ENDPOINTS, SearchedHost, Sources};

/// BMCEndpoints that are asked for at once. One is some 2 kB, and 50 kB with a bundle of CA certificates in it.
const PAGE: u32 = 50;

/// Whether the endpoint of a host still says what was known of it. Where there is none that could, there is
/// nothing that could have changed.
pub(super) async fn still_sole(
    sources: &Sources,
    machine: Option<&Machine>,
    host: &Result<Host, Obstacle>,
) -> Result<Result<(), Obstacle>, ShellError> {
    let (Some(machine), Ok(known)) = (machine, host) else {
        return Ok(Ok(()));
    };
    if !matches!(host::reference(machine), Ok(None)) {
        return Ok(Ok(()));
    }
    let described = SearchedHost {
        namespace: machine.namespace().unwrap_or_default(),
        machine: machine.name_any(),
        node: machine.node_name().map(ToOwned::to_owned),
        known: known.clone(),
    };
    let client = sources.client.clone();
    let read = move |asked: Vec<SearchedHost>| {
        let api = Api::<Guarded<BMCEndpoint>>::all(client.clone());
        async move {
            let of_interest = |endpoint: &Guarded<BMCEndpoint>| {
                asked
                    .iter()
                    .any(|one| host::is_of_interest(endpoint, one.whose(), &one.known))
            };
            let pages = ListParams::default().limit(PAGE);
            let listed = list(LISTING_ENDPOINTS, &api, &pages, of_interest).await?;
            let judged = asked
                .iter()
                .map(|one| host::still_sole(&listed, one.whose(), &one.known));
            Ok(judged.collect())
        }
    };
    sources.endpoint_reads.ask(described, read).await
}
