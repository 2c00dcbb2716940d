//! What `kubectl get` shows at the end.

use anyhow::Result;
use harness::Table;

use crate::narrate::{paragraph, print};
use crate::stage::Stage;

/// Prints remediations, Nodes and pods.
pub(crate) async fn tables(stage: &Stage) -> Result<()> {
    let namespace = &stage.world.namespace;
    let remediations =
        format!("/apis/baremetal-remediator.io/v1alpha1/namespaces/{namespace}/powercycleremediations");
    let remediations = stage.control_plane.get_table(&remediations).await?;
    let columns = ["Name", "Node", "Phase", "Reason", "Attempt", "Since", "Age"];
    stage.narrator.heading(&format!("kubectl get pcr -n {namespace}"));
    print(&lay_out(&remediations, &columns));
    for message in remediations.column("Message").unwrap_or_default() {
        paragraph(&format!("MESSAGE: {message}"));
    }
    if stage.is_beside_metal3() {
        let path = format!("/apis/metal3.io/v1alpha1/namespaces/{namespace}/baremetalhosts");
        let hosts = stage.control_plane.get_table(&path).await?;
        stage.narrator.heading(&format!("kubectl get bmh -n {namespace}"));
        print(&lay_out(
            &hosts,
            &["Name", "State", "Consumer", "Online", "Error", "Age"],
        ));
    }
    let nodes = stage.control_plane.get_table("/api/v1/nodes").await?;
    stage.narrator.heading("kubectl get nodes");
    print(&lay_out(&nodes, &["Name", "Status", "Roles", "Age", "Version"]));
    let pods = stage
        .control_plane
        .get_table(&format!("/api/v1/namespaces/{namespace}/pods"))
        .await?;
    stage
        .narrator
        .heading(&format!("kubectl get pods -n {namespace} -o wide"));
    print(&lay_out(
        &pods,
        &["Name", "Ready", "Status", "Restarts", "Age", "Node"],
    ));
    Ok(())
}

/// Some columns of a table, as kubectl lays them out.
fn lay_out(table: &Table, columns: &[&str]) -> String {
    let columns: Vec<Vec<String>> = columns
        .iter()
        .filter_map(|name| {
            let cells = table.column(name)?;
            Some(std::iter::once(name.to_uppercase()).chain(cells).collect())
        })
        .collect();
    let rows = columns.first().map_or(0, Vec::len);
    let line = |row: usize| {
        let cells = columns.iter().filter_map(|column| {
            let width = column.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
            column.get(row).map(|cell| format!("{cell:<width$}"))
        });
        cells.collect::<Vec<_>>().join("   ").trim_end().to_owned()
    };
    (0..rows).map(line).collect::<Vec<_>>().join("\n")
}
