use super::read_body;

const PASSWORD: &str = "canary-Pa55word";

#[test]
fn the_corpus_is_read_without_harm() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/redfish_body");
    let files = std::fs::read_dir(folder).expect("the corpus is in the repository");
    let read = |file: std::io::Result<std::fs::DirEntry>| std::fs::read(file.unwrap().path()).unwrap();
    let corpus: Vec<Vec<u8>> = files.map(read).collect();
    assert!(corpus.len() >= 10, "{}", corpus.len());
    let read: Vec<_> = corpus.iter().map(|body| read_body(body, PASSWORD)).collect();
    let understood = read.iter().filter(|read| read.is_resource).count();
    assert!(understood >= 5, "{understood}");
    assert!(read.iter().all(|read| !read.shown.contains(PASSWORD)));
    assert!(
        read.iter().any(|read| !read.shown.is_empty()),
        "something is shown of some"
    );
}
