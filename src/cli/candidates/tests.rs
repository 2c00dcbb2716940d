use super::*;
use crate::cli::program::Program;

fn after(line: &str) -> Vec<String> {
    let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    candidates(&Program::PluginCompletion.command(), &words)
}

#[test]
fn subcommands_options_and_values_are_offered() {
    assert_eq!(after("pl"), ["plan", ":4"]);
    assert_eq!(after("bmc c"), ["cycle", "check", ":4"]);
    assert_eq!(after("plan --con"), ["--context", ":4"]);
    assert_eq!(after("plan -A -o "), ["table", "json", "yaml", ":4"]);
    assert_eq!(after("plan --output y"), ["yaml", ":4"]);
    assert_eq!(after("completion f"), ["fish", ":4"]);
}

#[test]
fn files_are_left_to_the_shell_and_names_of_objects_are_not_guessed() {
    assert_eq!(after("plan --kubeconfig "), [":0"]);
    assert_eq!(after("bmc status --namespace "), [":4"]);
    assert_eq!(after("bmc status --yes "), [":4"]);
}

#[test]
fn what_only_the_pod_runs_is_not_offered() {
    assert!(!after("").iter().any(|word| word == "run"));
    assert!(after("").iter().any(|word| word == "bmc"));
}
