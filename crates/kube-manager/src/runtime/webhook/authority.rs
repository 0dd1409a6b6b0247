//! The certificates that an operator creates itself: authorities, which the API server trusts, and a leaf certificate
//! for each replica, signed by an authority. Everything here is computed from the known authorities and the time.
//!
//! An authority goes through these states. All replicas compute the state from the same times in the Secret:
//!
//! 1. It is created, and added to the bundle that the API server must trust.
//! 2. It is published: all webhook configurations have it. From then on, the API servers learn about it.
//! 3. It signs, some time later: all API servers know it.
//! 4. Another authority signs. This one stays trusted as long as a leaf that it signed may be in use.
//!
//! So each API server trusts each leaf in use, even if replicas or API servers lag behind.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, date_time_ymd,
};
use serde::{Deserialize, Serialize};

use crate::runtime::serve::Pair;

/// How long before its creation a certificate is already valid, to allow for slow clocks.
const BACKDATED: Duration = Duration::from_secs(60 * 60);

/// The shortest lifetime of a leaf, and the shortest delay. Certificates count in seconds, and the Secret is checked
/// several times in each of these times.
const SHORTEST: Duration = Duration::from_secs(1);

/// The time `by` after `time`, or the last one that there is. The flags and the Secret can have any times.
fn after(time: Timestamp, by: Duration) -> Timestamp {
    time.checked_add(by).unwrap_or(Timestamp::MAX)
}

/// The time `by` before `time`, or the first one that there is.
fn before(time: Timestamp, by: Duration) -> Timestamp {
    time.checked_sub(by).unwrap_or(Timestamp::MIN)
}

/// How long certificates last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lifetimes {
    pub authority: Duration,
    pub leaf: Duration,
    /// How long after its publication an authority starts to sign.
    pub delay: Duration,
}

impl Lifetimes {
    /// Checks that no leaf can outlive its authority, or be used before its authority is trusted.
    pub fn validate(&self) -> Result<()> {
        ensure!(
            self.leaf >= SHORTEST && self.delay >= SHORTEST,
            "--webhook-cert-lifetime and --webhook-ca-delay must be {SHORTEST:?} or longer"
        );
        let together = self.delay.saturating_add(self.leaf);
        ensure!(
            self.authority >= together.saturating_mul(4),
            "--webhook-ca-lifetime must be four times --webhook-cert-lifetime and --webhook-ca-delay together"
        );
        Ok(())
    }

    /// How often to check the time and the Secret.
    pub fn interval(&self) -> Duration {
        (self.leaf / 10)
            .min(self.delay / 4)
            .min(Duration::from_secs(30))
    }
}

/// The authorities, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Authorities(Vec<Authority>);

/// A certificate authority, which signs leaves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Authority {
    made: Timestamp,
    expires: Timestamp,
    /// The time at which all webhook configurations had the authority.
    #[serde(skip_serializing_if = "Option::is_none")]
    published: Option<Timestamp>,
    /// The certificate in PEM.
    certificate: String,
    /// The key in PEM.
    key: String,
}

/// A certificate of a replica, and its key, both in DER.
#[derive(Clone, PartialEq)]
pub(super) struct Leaf {
    pub certificate: Vec<u8>,
    pub key: Vec<u8>,
    made: Timestamp,
    expires: Timestamp,
    /// The creation time of the authority that signed the leaf.
    authority: Timestamp,
}

impl Authorities {
    /// The bundle that the API server must trust, in PEM.
    pub fn bundle(&self) -> String {
        self.0
            .iter()
            .map(|authority| authority.certificate.as_str())
            .collect()
    }

    /// The authority that signs; `None` if there are no authorities.
    pub fn signer(&self, now: Timestamp, lifetimes: &Lifetimes) -> Option<&Authority> {
        let mut newest_first = self.0.iter().rev();
        let newest = newest_first.find(|authority| authority.signs(now, lifetimes));
        // If no authority is trusted yet, prefer one that is valid.
        newest
            .or_else(|| self.0.iter().find(|authority| authority.has_begun(now)))
            .or(self.0.first())
    }

    /// A new leaf, if `old` must be replaced now.
    pub fn leaf(
        &self,
        old: Option<&Leaf>,
        hosts: &[String],
        now: Timestamp,
        lifetimes: &Lifetimes,
    ) -> Result<Option<Leaf>> {
        let signer = self
            .signer(now, lifetimes)
            .context("there is no authority")?;
        let is_new = old.is_none_or(|leaf| leaf.is_old(signer, now, lifetimes));
        is_new
            .then(|| signer.sign(hosts, now, lifetimes))
            .transpose()
    }

    /// The next state of the authorities, if it must change now.
    pub fn next(&self, now: Timestamp, lifetimes: &Lifetimes) -> Result<Option<Self>> {
        let mut next = self.clone();
        next.0.retain(|authority| now < authority.expires);
        // When the newer authority started to sign, replicas stopped signing leaves with the older one. These leaves
        // have expired.
        let earlier = before(before(now, lifetimes.leaf), lifetimes.delay);
        let signed_earlier = next
            .0
            .iter()
            .rposition(|authority| authority.signs(earlier, lifetimes));
        if let Some(newer) = signed_earlier {
            next.0.drain(..newer);
        }
        let needs_successor = next.0.last().is_none_or(|authority| {
            after(authority.made, lifetimes.authority / 2) <= now || !authority.has_begun(now)
        });
        if needs_successor {
            next.0.push(Authority::new(now, lifetimes)?);
        }
        Ok((next != *self).then_some(next))
    }

    /// The state after all webhook configurations have the [`bundle`](Self::bundle); `None` if that changes nothing.
    pub fn published(&self, now: Timestamp) -> Option<Self> {
        let mut next = self.clone();
        for authority in &mut next.0 {
            authority.published.get_or_insert(now);
        }
        (next != *self).then_some(next)
    }
}

/// The parameters of an authority's certificate. Each authority has a unique name, so that certificates cannot be
/// confused.
fn params(made: Timestamp) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    let name = format!("webhooks {made}");
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::DigitalSignature,
    ];
    params
}

fn validity(params: &mut CertificateParams, from: Timestamp, until: Timestamp) {
    let epoch = date_time_ymd(1970, 1, 1);
    params.not_before = epoch + since_epoch(before(from, BACKDATED));
    params.not_after = epoch + since_epoch(until);
}

/// The time from 1970 to `time`; zero for an earlier time.
fn since_epoch(time: Timestamp) -> Duration {
    let since = Duration::try_from(time.duration_since(Timestamp::UNIX_EPOCH));
    since.unwrap_or(Duration::ZERO)
}

impl Authority {
    fn new(now: Timestamp, lifetimes: &Lifetimes) -> Result<Self> {
        let (key, expires) = (KeyPair::generate()?, after(now, lifetimes.authority));
        let mut params = params(now);
        validity(&mut params, now, expires);
        Ok(Self {
            made: now,
            expires,
            published: None,
            certificate: params.self_signed(&key)?.pem(),
            key: key.serialize_pem(),
        })
    }

    /// Whether the authority is valid already. It is not if the clock of the replica that created it was far ahead.
    fn has_begun(&self, now: Timestamp) -> bool {
        self.made <= after(now, BACKDATED)
    }

    /// Whether all webhook configurations had the authority at some time.
    pub fn was_published(&self) -> bool {
        self.published.is_some()
    }

    /// The certificate in PEM.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    fn signs(&self, now: Timestamp, lifetimes: &Lifetimes) -> bool {
        self.published
            .is_some_and(|published| after(published, lifetimes.delay) <= now)
    }

    /// A leaf for servers with these names and addresses.
    pub fn sign(&self, hosts: &[String], now: Timestamp, lifetimes: &Lifetimes) -> Result<Leaf> {
        let issuer = Issuer::new(params(self.made), KeyPair::from_pem(&self.key)?);
        let mut params = CertificateParams::new(hosts)?;
        params.distinguished_name = DistinguishedName::new();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let expires = after(now, lifetimes.leaf).min(self.expires);
        validity(&mut params, now, expires);
        let key = KeyPair::generate()?;
        Ok(Leaf {
            certificate: params.signed_by(&key, &issuer)?.der().to_vec(),
            key: key.serialize_der(),
            made: now,
            expires,
            authority: self.made,
        })
    }
}

impl Leaf {
    /// The certificate and key for a server.
    pub fn pair(&self) -> Pair {
        Pair {
            certificates: vec![self.certificate.clone()],
            key: self.key.clone(),
        }
    }

    /// Whether clients still accept the leaf.
    pub fn is_valid(&self, now: Timestamp) -> bool {
        now < self.expires
    }

    /// Whether the leaf must be replaced, with `signer` as the authority.
    pub fn is_old(&self, signer: &Authority, now: Timestamp, lifetimes: &Lifetimes) -> bool {
        // The last condition applies after the clock was set back.
        self.authority != signer.made
            || after(self.made, lifetimes.leaf / 2) <= now
            || now < self.made
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use rustls::{
        RootCertStore,
        client::{WebPkiServerVerifier, danger::ServerCertVerifier},
        crypto::ring::default_provider,
        pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
    };

    use super::*;

    const LIFETIMES: Lifetimes = Lifetimes {
        authority: Duration::from_secs(1000),
        leaf: Duration::from_secs(100),
        delay: Duration::from_secs(40),
    };

    const HOST: &str = "webhook-service.system.svc";

    fn at(seconds: u64) -> Timestamp {
        Timestamp::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + seconds)
    }

    /// Whether an API server that trusts `bundle` accepts `leaf`.
    fn trusts(bundle: &str, leaf: &Leaf, host: &str, now: Timestamp) -> Result<()> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(bundle.as_bytes()) {
            roots.add(certificate?)?;
        }
        let provider = Arc::new(default_provider());
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
        let now = UnixTime::since_unix_epoch(now.duration_since(Timestamp::UNIX_EPOCH).try_into()?);
        let (leaf, host) = (
            CertificateDer::from_slice(&leaf.certificate),
            ServerName::try_from(host)?,
        );
        verifier
            .build()?
            .verify_server_cert(&leaf, &[], &host, &[], now)?;
        Ok(())
    }

    fn next(authorities: &Authorities, now: Timestamp) -> Authorities {
        let next = authorities.next(now, &LIFETIMES).expect("authorities");
        next.unwrap_or_else(|| authorities.clone())
    }

    /// When the authority was made that signs `now`.
    fn signer_made(authorities: &Authorities, now: u64) -> Timestamp {
        let signer = authorities.signer(at(now), &LIFETIMES);
        signer.expect("a signer").made
    }

    #[test]
    fn the_first_authority_signs_at_once_and_the_second_when_it_is_known() {
        let first = next(&Authorities::default(), at(0));
        let signer = first.signer(at(0), &LIFETIMES).expect("a signer");
        let hosts = [HOST.to_owned(), "127.0.0.1".to_owned()];
        let leaf = signer.sign(&hosts, at(0), &LIFETIMES).expect("a leaf");
        trusts(&first.bundle(), &leaf, HOST, at(0)).expect("trust");
        trusts(&first.bundle(), &leaf, "127.0.0.1", at(99)).expect("trust");
        trusts(&first.bundle(), &leaf, HOST, at(101)).expect_err("expired");
        trusts(&first.bundle(), &leaf, "other.system.svc", at(0)).expect_err("not this one");
        assert!(!leaf.is_old(signer, at(49), &LIFETIMES));
        assert!(leaf.is_old(signer, at(50), &LIFETIMES));

        let published = first.published(at(1)).expect("news");
        assert_eq!(published.published(at(2)), None);
        assert_eq!(
            published.next(at(499), &LIFETIMES).expect("authorities"),
            None
        );
        let both = next(&published, at(500));
        assert_eq!(both.0.len(), 2);
        // The authority is not published for a long time.
        assert_eq!(signer_made(&both, 700), at(0));
        let both_published = both.published(at(700)).expect("news");
        assert_eq!(signer_made(&both_published, 739), at(0));
        assert_eq!(signer_made(&both_published, 740), at(500));
        trusts(&both_published.bundle(), &leaf, HOST, at(50)).expect("trust");
        assert_eq!(
            both_published
                .next(at(879), &LIFETIMES)
                .expect("authorities"),
            None
        );
        let second = next(&both_published, at(880));
        assert_eq!(second.0.len(), 1);
        trusts(&second.bundle(), &leaf, HOST, at(50)).expect_err("not any more");
    }

    #[test]
    fn what_is_expired_is_replaced_at_once() {
        let first = next(&Authorities::default(), at(0))
            .published(at(0))
            .expect("news");
        let second = next(&first, at(5000));
        assert_eq!(second.0.len(), 1);
        assert_eq!(
            second
                .signer(at(5000), &LIFETIMES)
                .map(|authority| authority.made),
            Some(at(5000))
        );
    }

    #[test]
    fn an_authority_from_a_wrong_clock_is_replaced() {
        let day = 86_400;
        let of_tomorrow = next(&Authorities::default(), at(day))
            .published(at(day))
            .expect("news");
        let both = next(&of_tomorrow, at(0));
        assert_eq!(both.0.len(), 2);
        assert_eq!(signer_made(&both, 0), at(0));
        // The other authority is removed after the new one has signed for long enough.
        let published = both.published(at(1)).expect("news");
        assert_eq!(next(&published, at(41)).0.len(), 2);
        assert_eq!(next(&published, at(200)).0.len(), 1);

        // A clock that is slightly fast does no harm: the authority is already valid.
        let soon = next(&Authorities::default(), at(3600));
        assert_eq!(soon.next(at(0), &LIFETIMES).expect("authorities"), None);
    }

    #[test]
    fn a_secret_has_them_as_text() {
        let authorities = next(&Authorities::default(), at(0));
        let text = serde_json::to_string(&authorities).expect("JSON");
        assert_eq!(
            serde_json::from_str::<Authorities>(&text).expect("JSON"),
            authorities
        );
    }

    #[test]
    fn lifetimes_that_leave_no_time_are_refused() {
        fn seconds(authority: u64, leaf: u64, delay: u64) -> Lifetimes {
            Lifetimes {
                authority: Duration::from_secs(authority),
                leaf: Duration::from_secs(leaf),
                delay: Duration::from_secs(delay),
            }
        }

        assert!(LIFETIMES.validate().is_ok());
        assert!(seconds(60, 10, 5).validate().is_ok());
        for wrong in [seconds(59, 10, 5), seconds(60, 0, 5), seconds(60, 10, 0)] {
            assert!(wrong.validate().is_err(), "{wrong:?}");
        }
        // The Secret would be read without a pause.
        let leaf = Duration::from_nanos(1);
        assert!(Lifetimes { leaf, ..LIFETIMES }.validate().is_err());
    }

    fn durations() -> impl Strategy<Value = Duration> {
        prop_oneof![
            any::<Duration>(),
            (0u64..10_000_000_000).prop_map(Duration::from_secs),
            Just(Duration::MAX),
        ]
    }

    fn times() -> impl Strategy<Value = Timestamp> {
        let seconds = Timestamp::MIN.as_second()..=Timestamp::MAX.as_second();
        seconds.prop_map(|second| Timestamp::from_second(second).expect("a time"))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// The flags and the Secret can have any times.
        #[test]
        fn no_lifetime_and_no_time_is_too_long(
            durations in prop::array::uniform3(durations()),
            times in prop::array::uniform3(times()),
        ) {
            let [authority, leaf, delay] = durations;
            let lifetimes = Lifetimes { authority, leaf, delay };
            let _ = lifetimes.validate();
            let _ = lifetimes.interval();
            let mut authorities = next(&Authorities::default(), at(0));
            let [made, published, expires] = times;
            for authority in &mut authorities.0 {
                *authority = Authority { made, published: Some(published), expires, ..authority.clone() };
            }
            let mut leaf = None;
            for now in times.into_iter().chain([at(0)]) {
                if let Some(next) = authorities.next(now, &lifetimes).expect("authorities") {
                    authorities = next;
                }
                let made = authorities.leaf(leaf.as_ref(), &[HOST.to_owned()], now, &lifetimes);
                leaf = made.expect("a leaf").or(leaf);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(8))]

        /// Three replicas check the Secret at different times, and two API servers learn of a bundle with a delay up to
        /// the limit.
        #[test]
        fn every_certificate_in_use_is_trusted_by_every_api_server(
            phases in prop::array::uniform3(0u64..10),
            lags in prop::array::uniform2(0u64..=40),
            outage in (0u64..1000, 0u64..300),
        ) {
            let hosts = [HOST.to_owned()];
            let mut secret = Authorities::default();
            let mut leaves: [Option<Leaf>; 3] = [None, None, None];
            // The bundles of the configurations, each with the time since when it is used.
            let mut bundles: Vec<(u64, String)> = Vec::new();
            for second in 0..1700 {
                let now = at(second);
                for (leaf, phase) in leaves.iter_mut().zip(phases) {
                    if second % 10 != phase {
                        continue;
                    }
                    secret = next(&secret, now);
                    let signer = secret.signer(now, &LIFETIMES).expect("a signer");
                    if leaf.as_ref().is_none_or(|leaf| leaf.is_old(signer, now, &LIFETIMES)) {
                        *leaf = Some(signer.sign(&hosts, now, &LIFETIMES).expect("a leaf"));
                    }
                    // During an outage, configurations cannot be written.
                    if (outage.0..outage.0 + outage.1).contains(&second) && second > 0 {
                        continue;
                    }
                    let bundle = secret.bundle();
                    if bundles.last().is_none_or(|(_, last)| *last != bundle) {
                        bundles.push((second, bundle));
                    }
                    secret = secret.published(now).unwrap_or(secret);
                }
                // Often enough to check each change and each expiry.
                if second % 5 > 0 {
                    continue;
                }
                for lag in lags {
                    let known = bundles.iter().rfind(|(since, _)| since + lag <= second);
                    let Some((_, bundle)) = known else { continue };
                    for leaf in leaves.iter().flatten() {
                        let trust = trusts(bundle, leaf, HOST, now);
                        prop_assert!(trust.is_ok(), "after {second} s: {trust:?}");
                    }
                }
            }
        }
    }
}
