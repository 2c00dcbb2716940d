//! Whether the BMCEndpoint of a host still describes it, and alone, read live: all of them are listed, once for
//! everyone who asks at the same time.

use kube::ResourceExt as _;
use kube::api::{Api, ListParams};
use remediator_api::BMCEndpoint;
use remediator_api::guarded::Guarded;
use remediator_api::views::Machine;
use remediator_core::facts::{Host, Obstacle};

use crate::api_call::{ShellError, list};
use crate::daemon::context::Context;
use crate::shared_read::SharedRead;
use crate::snapshot::host;
use crate::snapshot::host::Whose;

/// What is listed.
pub(crate) const LISTING: &str = "listing the BMCEndpoints";

/// BMCEndpoints that are asked for at once. One is some 2 kB, and 50 kB with a bundle of CA certificates in it.
const PAGE: u32 = 50;

/// A Machine and its Node, and what was known of the host.
#[derive(Clone, Debug)]
pub(crate) struct Described {
    namespace: String,
    machine: String,
    node: Option<String>,
    known: Host,
}

impl Described {
    fn whose(&self) -> Whose<'_> {
        Whose {
            namespace: &self.namespace,
            machine: &self.machine,
            node: self.node.as_deref(),
        }
    }
}

/// Reads of all BMCEndpoints.
pub(crate) type EndpointReads = SharedRead<Described, Result<(), Obstacle>>;

/// Whether the endpoint of a host still says what was known of it. Where there is none that could, there is
/// nothing that could have changed.
pub(super) async fn still_sole(
    context: &Context,
    machine: Option<&Machine>,
    host: &Result<Host, Obstacle>,
) -> Result<Result<(), Obstacle>, ShellError> {
    let (Some(machine), Ok(known)) = (machine, host) else {
        return Ok(Ok(()));
    };
    if !matches!(host::reference(machine), Ok(None)) {
        return Ok(Ok(()));
    }
    let described = Described {
        namespace: machine.namespace().unwrap_or_default(),
        machine: machine.name_any(),
        node: machine.node_name().map(ToOwned::to_owned),
        known: known.clone(),
    };
    let client = context.client.clone();
    let read = move |asked: Vec<Described>| {
        let api = Api::<Guarded<BMCEndpoint>>::all(client.clone());
        async move {
            let of_interest = |endpoint: &Guarded<BMCEndpoint>| {
                asked
                    .iter()
                    .any(|one| host::is_of_interest(endpoint, one.whose(), &one.known))
            };
            let pages = ListParams::default().limit(PAGE);
            let listed = list(LISTING, &api, &pages, of_interest).await?;
            let judged = asked
                .iter()
                .map(|one| host::still_sole(&listed, one.whose(), &one.known));
            Ok(judged.collect())
        }
    };
    context.endpoint_reads.ask(described, read).await
}
