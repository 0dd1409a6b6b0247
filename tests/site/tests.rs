//! Tests the website that `make docs` builds: its links, and its pages in a browser. `make test-docs` runs these tests.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test ends where something fails"
)]

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use walkdir::WalkDir;

/// Returns the folder of the website.
fn site() -> PathBuf {
    let site = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/site");
    let site = site.canonicalize();
    site.expect("`make docs` builds the website, and `make test-docs` also tests it")
}

/// Returns the pages that come from Markdown, by their paths in the website. rustdoc checks its own links.
fn pages() -> BTreeMap<PathBuf, String> {
    let site = site();
    let files = WalkDir::new(&site).into_iter();
    let files = files.filter_entry(|entry| entry.file_name() != "rustdoc");
    let paths = files.map(|entry| entry.unwrap().into_path());
    let pages = paths.filter(|path| path.extension().is_some_and(|end| end == "html"));
    pages
        .map(|path| {
            let text = fs::read_to_string(&path).unwrap();
            (path.strip_prefix(&site).unwrap().to_owned(), text)
        })
        .collect()
}

/// Returns the values of an attribute.
fn values<'a>(html: &'a str, attribute: &str) -> Vec<&'a str> {
    let start = format!(" {attribute}=\"");
    let values = html.split(&start).skip(1);
    values.map(|rest| rest.split('"').next().unwrap()).collect()
}

/// Returns a command for Chromium, which CI installs.
fn browser() -> Command {
    let path = env::var_os("PATH").unwrap();
    let folders = env::split_paths(&path);
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let mut programs = folders.flat_map(|folder| names.map(|name| folder.join(name)));
    let program = programs.find(|program| program.is_file()).expect(
        "Chromium is missing; on Debian, `apt-get install --no-install-recommends chromium`",
    );
    let mut browser = Command::new(program);
    // A container has no user namespaces for the sandbox of Chromium. The pages need no sandbox, because they come from
    // this repository.
    browser.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--enable-logging=stderr",
        "--virtual-time-budget=20000",
        "--window-size=1300,1000",
    ]);
    browser
}

/// Returns the page as the browser shows it, after the scripts of the page have run.
fn shown(page: &str) -> String {
    let url = format!("file://{}/{page}", site().display());
    let output = browser().arg("--dump-dom").arg(&url).output().unwrap();
    let [shown, log] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(output.status.success(), "{url}: {log}");
    for line in log.lines() {
        assert!(!line.contains(":CONSOLE"), "{url}: {line}");
    }
    shown
}

#[test]
fn every_link_leads_to_a_page_and_a_heading_of_it() {
    let site = site();
    let pages = pages();
    let mut count = 0;
    for (page, text) in &pages {
        // GitHub serves this page for any missing address, so the links of the page begin at the top.
        if page == Path::new("404.html") {
            continue;
        }
        let folder = site.join(page).parent().unwrap().to_owned();
        for link in values(text, "href").into_iter().chain(values(text, "src")) {
            if link.contains("://") || link.starts_with("data:") {
                continue;
            }
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            let path = path.split('?').next().unwrap();
            let target = match path {
                "" => site.join(page),
                path => folder.join(path),
            };
            assert!(target.exists(), "{}: {link}", page.display());
            let target = target.canonicalize().unwrap();
            let target = target
                .strip_prefix(&site)
                .expect("a link within the website");
            let target = if site.join(target).is_dir() {
                target.join("index.html")
            } else {
                target.to_owned()
            };
            if let (false, Some(text)) = (heading.is_empty(), pages.get(&target)) {
                let headings = values(text, "id");
                assert!(headings.contains(&heading), "{}: {link}", page.display());
            }
            count += 1;
        }
    }
    assert!(count > 500, "{count} links");
}

#[test]
fn the_runtime_is_documented_in_the_website() {
    let rustdoc = "rustdoc/kube_manager/index.html";
    assert!(site().join(rustdoc).is_file());
    let pages = pages();
    let linked = values(&pages[Path::new("docs/runtime.html")], "href");
    assert!(linked.contains(&format!("../{rustdoc}").as_str()));
    assert!(shown(rustdoc).contains("Reconciler"));
}

#[test]
fn a_browser_finds_what_a_reader_searches_for() {
    let found = shown("index.html?search=storage%20migration");
    let (_, results) = found
        .split_once("id=\"mdbook-searchresults\"")
        .expect("results");
    let results = results.split("</ul>").next().unwrap();
    let links = values(results, "href");
    assert!(
        links.iter().any(|link| link.contains("docs/versions.html")),
        "{links:?}"
    );
}

#[test]
fn a_browser_shows_every_page_and_draws_every_diagram() {
    let (mut shown_pages, mut diagrams) = (0, 0);
    for (page, text) in pages() {
        let is_redirect = text.contains("http-equiv=\"refresh\"");
        if is_redirect || page == Path::new("toc.html") {
            continue;
        }
        let page = page.to_str().unwrap();
        let shown = shown(page);
        assert!(shown.contains("<h1"), "{page}");
        let expected = text.matches("class=\"mermaid\"").count();
        let drawn = shown.matches("aria-roledescription=").count();
        assert_eq!(drawn, expected, "{page}");
        assert!(!shown.contains("Syntax error"), "{page}");
        shown_pages += 1;
        diagrams += expected;
    }
    assert!(shown_pages > 20, "{shown_pages} pages");
    assert!(diagrams > 5, "{diagrams} diagrams");
}
