//! A document in Markdown, as far as the tests ask about it.

use std::collections::BTreeSet;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

#[derive(Default)]
pub(super) struct Document {
    /// Targets of links and pictures.
    pub(super) links: Vec<String>,
    /// What may stand behind `#` in a link to this document.
    pub(super) anchors: BTreeSet<String>,
    /// Lines that a reader may run: of code blocks without a language or of a shell, continued lines put together.
    pub(super) shell: Vec<String>,
    /// Blocks of YAML.
    pub(super) yaml: Vec<String>,
    /// Code in the text.
    pub(super) code: Vec<String>,
}

impl Document {
    #[allow(
        clippy::wildcard_enum_match_arm,
        reason = "another crate's, of which a part is looked at"
    )]
    pub(super) fn read(text: &str) -> Self {
        let mut document = Self::default();
        let (mut heading, mut block, mut yaml) = (None::<String>, None::<String>, None::<String>);
        for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
            match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    document.links.push(dest_url.into_string());
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    document.add_anchor(&heading.take().unwrap_or_default());
                }
                Event::Start(Tag::CodeBlock(kind)) => {
                    let is_yaml = matches!(&kind, CodeBlockKind::Fenced(language) if &**language == "yaml");
                    yaml = is_yaml.then(String::new);
                    let is_shell = match kind {
                        CodeBlockKind::Indented => true,
                        CodeBlockKind::Fenced(language) => {
                            ["", "sh", "bash", "console"].contains(&&*language)
                        }
                    };
                    block = is_shell.then(String::new);
                }
                Event::End(TagEnd::CodeBlock) => {
                    document.yaml.extend(yaml.take());
                    let lines = block.take().unwrap_or_default().replace("\\\n", " ");
                    document
                        .shell
                        .extend(lines.lines().map(|line| line.trim().to_owned()));
                }
                Event::Text(text) => {
                    for into in [&mut heading, &mut block, &mut yaml].into_iter().flatten() {
                        into.push_str(&text);
                    }
                }
                Event::Code(text) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&text);
                    }
                    document.code.push(text.replace('\n', " "));
                }
                _ => {}
            }
        }
        document
    }

    /// As GitHub makes it of a heading: lower case, without punctuation, with hyphens for spaces, numbered where it is there.
    fn add_anchor(&mut self, heading: &str) {
        let kept = |one: &char| one.is_alphanumeric() || matches!(one, ' ' | '-' | '_');
        let anchor: String = heading.to_lowercase().chars().filter(kept).collect();
        let anchor = anchor.replace(' ', "-");
        let numbered = (1..).map(|number| format!("{anchor}-{number}"));
        let mut names = std::iter::once(anchor.clone()).chain(numbered);
        if let Some(free) = names.find(|name| !self.anchors.contains(name)) {
            self.anchors.insert(free);
        }
    }
}

#[test]
fn what_a_document_holds_is_found() {
    let text = "# It's `a` test\n\nSee [one](two.md#three) and ![p](q.png), `code here`.\n\n## It's a test\n\n    \
        kubectl a \\\n      b # why\n\n```yaml\nc: [d](e)\n```\n\n| t |\n|---|\n| [f](g) |\n";
    let document = Document::read(text);
    assert_eq!(document.links, ["two.md#three", "q.png", "g"]);
    let anchors: Vec<&str> = document.anchors.iter().map(String::as_str).collect();
    assert_eq!(anchors, ["its-a-test", "its-a-test-1"]);
    assert_eq!(document.shell, ["kubectl a    b # why"]);
    assert_eq!(document.yaml, ["c: [d](e)\n"]);
    assert_eq!(document.code, ["a", "code here"]);
}
