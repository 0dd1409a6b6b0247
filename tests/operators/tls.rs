//! Scans the TLS servers of an operator: which versions and cipher suites they accept from a client that offers all of
//! them, including old ones that TLS libraries no longer support.

use std::{
    collections::BTreeSet,
    io::{Read, Write},
    net::TcpStream,
};

use tempfile::TempDir;

use crate::{
    admission::{certify, project, serve},
    operator::PATIENCE,
};

const SSL_3: u16 = 0x0300;
const TLS_1_0: u16 = 0x0301;
const TLS_1_1: u16 = 0x0302;
const TLS_1_2: u16 = 0x0303;
const TLS_1_3: u16 = 0x0304;

/// The suites of TLS 1.3.
const MODERN: [u16; 3] = [0x1301, 0x1302, 0x1303];

/// The suites of TLS 1.2 with forward secrecy and authenticated encryption: ECDHE with AES in the mode GCM, or with
/// `ChaCha20`, for keys of either kind.
const STRONG: [u16; 6] = [0xc02b, 0xc02c, 0xc02f, 0xc030, 0xcca8, 0xcca9];

/// The answer of a server.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    /// The version and the suite that the server chose.
    Accepted(u16, u16),
    /// The number of an alert.
    Refused(u8),
}

/// Returns every registered cipher suite, the weak ones first.
fn all_suites() -> Vec<u16> {
    let ranges = [
        0x0000..=0x00c7,
        0x1301..=0x1307,
        0xc001..=0xc102,
        0xcca8..=0xccae,
        0xd001..=0xd005,
    ];
    let all = ranges.into_iter().flatten();
    // This number is not a suite.
    all.filter(|suite| *suite != 0x00ff).collect()
}

/// Encodes numbers as two bytes each, after their total length in bytes.
fn list(numbers: &[u16]) -> Vec<u8> {
    let bytes = numbers.iter().flat_map(|number| number.to_be_bytes());
    with_length(&bytes.collect::<Vec<_>>())
}

fn with_length(bytes: &[u8]) -> Vec<u8> {
    let length = u16::try_from(bytes.len()).expect("a short list");
    [&length.to_be_bytes(), bytes].concat()
}

fn extension(number: u16, content: &[u8]) -> Vec<u8> {
    [number.to_be_bytes().to_vec(), with_length(content)].concat()
}

/// Returns the first message of a client.
fn hello(version: u16, suites: &[u16]) -> Vec<u8> {
    // The extensions contain curves, and signatures including SHA-1. For TLS 1.3, they also contain the version and an
    // empty list of key shares, so the server requests a key share.
    let mut extensions = [
        extension(0x000a, &list(&[0x001d, 0x0017, 0x0018])),
        extension(0x000b, &[1, 0]),
        extension(
            0x000d,
            &list(&[0x0403, 0x0503, 0x0804, 0x0401, 0x0807, 0x0203, 0x0201]),
        ),
    ]
    .concat();
    if version == TLS_1_3 {
        extensions.extend(extension(0x002b, &[2, 3, 4]));
        extensions.extend(extension(0x0033, &[0, 0]));
    }
    let body = [
        &version.min(TLS_1_2).to_be_bytes()[..],
        &[7; 32],
        // No session, and no compression.
        &[0],
        &list(suites),
        &[1, 0],
        &with_length(&extensions),
    ]
    .concat();
    let length = u32::try_from(body.len()).expect("a short message");
    let message = [&[1], &length.to_be_bytes()[1..], &body].concat();
    let record = version.min(TLS_1_0).to_be_bytes();
    [&[22], &record[..], &with_length(&message)].concat()
}

/// Offers a version and suites to the server at `address`, and returns the answer.
fn offer(address: &str, version: u16, suites: &[u16]) -> Answer {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream.write_all(&hello(version, suites)).expect("it reads");
    let mut head = [0; 5];
    stream.read_exact(&mut head).expect("an answer");
    let mut body = vec![0; usize::from(u16::from_be_bytes([head[3], head[4]]))];
    stream.read_exact(&mut body).expect("an answer");
    let number = |at: usize| u16::from_be_bytes([body[at], body[at + 1]]);
    match head[0] {
        21 => Answer::Refused(body[1]),
        22 => {
            let suite = 39 + usize::from(body[38]);
            // An answer of TLS 1.3 has the version number of TLS 1.2, and the real version in an extension.
            let extensions = &body[(suite + 3).min(body.len())..];
            let is_1_3 = extensions.windows(6).any(|it| it == [0, 0x2b, 0, 2, 3, 4]);
            let version = if is_1_3 { TLS_1_3 } else { number(4) };
            Answer::Accepted(version, number(suite))
        }
        other => panic!("a record of type {other}"),
    }
}

/// Returns all suites that the server accepts in a version.
fn accepted(address: &str, version: u16) -> BTreeSet<u16> {
    let (mut left, mut accepted) = (all_suites(), BTreeSet::new());
    while let Answer::Accepted(chosen, suite) = offer(address, version, &left) {
        assert_eq!(chosen, version);
        assert!(left.contains(&suite), "{suite:#06x} was not offered");
        left.retain(|other| *other != suite);
        accepted.insert(suite);
    }
    accepted
}

/// The number of the alert that refuses a version.
const PROTOCOL_VERSION: u8 = 70;

#[test]
fn metrics_and_webhooks_accept_only_current_tls_and_strong_ciphers() {
    let folder = TempDir::new().expect("a temporary folder");
    certify(folder.path());
    let launch = project().operator();
    let launch = launch.args("--metrics-bind-address=127.0.0.1:0");
    let operator = serve(launch, folder.path()).start();
    for what in ["metrics", "webhooks"] {
        let address = operator.address(what);
        for old in [SSL_3, TLS_1_0, TLS_1_1] {
            let answer = offer(&address, old, &all_suites());
            assert_eq!(
                answer,
                Answer::Refused(PROTOCOL_VERSION),
                "{what} {old:#06x}"
            );
        }
        assert_eq!(accepted(&address, TLS_1_3), MODERN.into(), "{what}");
        let suites = accepted(&address, TLS_1_2);
        assert!(!suites.is_empty(), "{what} is not for clients of TLS 1.2");
        let strong = BTreeSet::from(STRONG);
        assert!(suites.is_subset(&strong), "{what} takes {suites:04x?}");
    }
}
