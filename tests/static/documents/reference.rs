//! `docs/api.md`: every field of our kinds, made from the CustomResourceDefinitions.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context as _, Result};
use serde_json::Value;
use world::rendered::text;
use world::{read_documents, repository};

const FILE: &str = "docs/api.md";
/// Set, the file is written anew: `make manifests` does.
const WRITE: &str = "WRITE_REFERENCE";

const INTRODUCTION: &str = "\
# API reference

Every field of the kinds of `baremetal-remediator.io/v1alpha1`, made from the CustomResourceDefinitions by `make manifests`.
`kubectl explain` shows the same of what your cluster has, such as `kubectl explain pcr.spec.deadlines`.
What the fields do together is in [remediation.md](remediation.md), [policy.md](policy.md) and [bmc.md](bmc.md).
`[]` stands for each entry of a list, `*` for each key of a map.
";

const KINDS: [&str; 4] = [
    "powercycleremediations",
    "powercycleremediationtemplates",
    "remediationpolicies",
    "bmcendpoints",
];

fn reference() -> Result<String> {
    let mut page = INTRODUCTION.to_owned();
    for kind in KINDS {
        let documents = read_documents(&repository().join(format!("deploy/crds/{kind}.yaml")))?;
        kind_of(documents.first().context("a definition")?, &mut page)?;
    }
    Ok(page)
}

fn kind_of(definition: &Value, page: &mut String) -> Result<()> {
    let schema = definition
        .pointer("/spec/versions/0/schema/openAPIV3Schema")
        .context("a schema")?;
    let kind = text(definition, "/spec/names/kind");
    let short = text(definition, "/spec/names/shortNames/0");
    let scope = match text(definition, "/spec/scope") {
        "Cluster" => "it belongs to no namespace",
        _ => "it belongs to a namespace",
    };
    writeln!(page, "\n## {kind}\n\n{}\n", sentence(schema))?;
    writeln!(page, "Its short name is `{short}`; {scope}.")?;
    for part in ["spec", "status"] {
        let Some(of_part) = schema.pointer(&format!("/properties/{part}")) else {
            continue;
        };
        let mut rows = String::new();
        fields(of_part, "", &mut rows)?;
        if !rows.is_empty() {
            writeln!(
                page,
                "\n### {part} of {kind}\n\n| field | type | meaning |\n|---|---|---|\n{}",
                rows.trim_end()
            )?;
        }
    }
    Ok(())
}

/// A row a field, those below it after it.
fn fields(schema: &Value, before: &str, rows: &mut String) -> Result<()> {
    let required: Vec<&str> = strings(&schema["required"]);
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{before}{name}");
        let mut meaning = sentence(field);
        let values = strings(&field["enum"]);
        if !values.is_empty() {
            write!(meaning, " One of `{}`.", values.join("`, `"))?;
        }
        if let Some(default) = field.get("default").filter(|default| !default.is_object()) {
            write!(meaning, " Default: `{default}`.")?;
        }
        if required.contains(&name.as_str()) {
            meaning.push_str(" Required.");
        }
        // Of a template: it is the spec of the other kind once more.
        if path == "template.spec" {
            writeln!(
                rows,
                "| `{path}` | object | As [the spec](#spec-of-powercycleremediation) of what is made from it. |"
            )?;
            continue;
        }
        let kind = field["type"].as_str().unwrap_or("any");
        writeln!(rows, "| `{path}` | {kind} | {} |", meaning.trim())?;
        fields(field, &format!("{path}."), rows)?;
        fields(&field["items"], &format!("{path}[]."), rows)?;
        fields(&field["additionalProperties"], &format!("{path}.*."), rows)?;
    }
    Ok(())
}

fn strings(list: &Value) -> Vec<&str> {
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// A description in one line, with what would be markup taken as text.
fn sentence(schema: &Value) -> String {
    let words = schema["description"]
        .as_str()
        .unwrap_or_default()
        .split_whitespace();
    let line = words.collect::<Vec<_>>().join(" ");
    let line = line.replace('|', "\\|").replace('<', "&lt;").replace('[', "\\[");
    if line.is_empty() || line.ends_with('.') {
        line
    } else {
        format!("{line}.")
    }
}

#[test]
fn the_reference_is_what_the_definitions_say() -> Result<()> {
    let (made, file) = (reference()?, repository().join(FILE));
    if std::env::var_os(WRITE).is_some() {
        fs::write(&file, &made)?;
    }
    let present = fs::read_to_string(&file).with_context(|| FILE.to_owned())?;
    assert!(present == made, "{FILE} is out of date; run `make manifests`");
    for kind in ["PowerCycleRemediation", "RemediationPolicy", "BMCEndpoint"] {
        assert!(made.contains(&format!("### spec of {kind}\n")), "{kind}");
    }
    Ok(())
}
