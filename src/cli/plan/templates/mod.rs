//! The templates that requests are made from.

#[cfg(test)]
mod tests;

use anyhow::anyhow;
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt as _};
use remediator_api::PowerCycleRemediationTemplate;
use remediator_api::guarded::Guarded;
use remediator_core::strategy::Strategy;

use crate::api_call::{list, objects, within};

/// Kind of the templates that are ours.
pub(super) const KIND: &str = "PowerCycleRemediationTemplate";

/// Templates of ours.
pub(super) struct Templates(Vec<Guarded<PowerCycleRemediationTemplate>>);

/// A template that no request can be made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unusable {
    /// `TemplateNotFound` or `TemplateInvalid`.
    pub(super) outcome: &'static str,
    /// What is wrong with it, and what to do.
    pub(super) why: String,
}

impl Templates {
    /// Reads those of a namespace or of all, and these besides.
    ///
    /// # Errors
    /// When the API server does not say.
    pub(super) async fn read(
        client: &Client,
        namespace: Option<&str>,
        others: impl IntoIterator<Item = (String, String)>,
    ) -> anyhow::Result<Self> {
        let said = |error| anyhow!(crate::report::chain(&error));
        let api = objects::<Guarded<PowerCycleRemediationTemplate>>(client, namespace);
        let call = "listing PowerCycleRemediationTemplates";
        let mut templates = list(call, &api, &ListParams::default(), |_| true)
            .await
            .map_err(said)?;
        let elsewhere = others
            .into_iter()
            .filter(|(of, _)| namespace.is_some_and(|own| own != of));
        for (of, name) in elsewhere {
            let api = Api::<Guarded<PowerCycleRemediationTemplate>>::namespaced(client.clone(), &of);
            let call = "reading a PowerCycleRemediationTemplate";
            templates.extend(within(call, api.get_opt(&name)).await.map_err(said)?);
        }
        Ok(Self(templates))
    }

    /// What the requests that are made from a template ask for.
    ///
    /// # Errors
    /// When none can be made from it.
    pub(super) fn strategy(&self, namespace: &str, name: &str) -> Result<Strategy, Unusable> {
        let is_it = |one: &&Guarded<PowerCycleRemediationTemplate>| {
            one.namespace().as_deref() == Some(namespace) && one.name_any() == name
        };
        let called = format!("{KIND} {namespace}/{name}");
        let Some(Guarded(template)) = self.0.iter().find(is_it) else {
            return Err(Unusable {
                outcome: "TemplateNotFound",
                why: format!(
                    "{called} does not exist, so no request can be made from it. Create it, or name another"
                ),
            });
        };
        let strategy = match template {
            Ok(template) => template.spec.validated().map_err(|obstacle| obstacle.detail),
            Err(invalid) => Err(invalid.error.clone()),
        };
        strategy.map_err(|wrong| Unusable {
            outcome: "TemplateInvalid",
            why: format!("no request can be made from {called}: {wrong}. Correct the field that is named"),
        })
    }
}
