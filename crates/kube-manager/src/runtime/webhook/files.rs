//! Certificates in a folder, which another program maintains. The server itself reads the certificates. This module
//! makes the API server trust the authorities that signed them.

use std::{fs, io, path::PathBuf, time::Duration};

use anyhow::{Context, Result, ensure};
use rustls::pki_types::{CertificateDer, pem::PemObject};
use tokio::time::{sleep, timeout};

use super::configurations::{Bundle, Configurations, Published, WAITS, report};
use crate::runtime::{failure, health::Health, trouble::Trouble};

/// How often the authorities are read again and compared with those that the API server trusts.
const INTERVAL: Duration = Duration::from_secs(30);

/// The delay after a failure because of which this process is not ready.
const SOON: Duration = Duration::from_secs(1);

/// A folder of certificates.
pub(super) struct Files {
    pub folder: PathBuf,
    pub configurations: Configurations,
    pub health: Health,
}

impl Files {
    /// Makes the API server trust the authorities in `ca.crt`. Without that file, another program must do that.
    pub async fn publish(self) {
        let mut trouble = Trouble::new(WAITS);
        loop {
            let (is_trusted, problem) = match timeout(INTERVAL, self.look()).await {
                // Another program may have published what this one cannot read.
                Ok(Ok(published)) => (published.is_trusted(true), published.says()),
                Ok(Err(error)) => (true, Some(failure::message(error.as_ref()))),
                Err(_) => (true, Some("the API server does not answer".to_owned())),
            };
            report(&self.health, is_trusted, problem.as_deref());
            match problem {
                None => trouble.ends(),
                Some(problem) => trouble.is(problem),
            }
            sleep(if is_trusted { INTERVAL } else { SOON }).await;
        }
    }

    async fn look(&self) -> Result<Published> {
        let path = self.folder.join("ca.crt");
        let bundle = match fs::read_to_string(&path) {
            Ok(bundle) => bundle,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Published::default());
            }
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read `{}`", path.display()));
            }
        };
        let mut certificates = CertificateDer::pem_slice_iter(bundle.as_bytes());
        ensure!(
            certificates.any(|certificate| certificate.is_ok()),
            "there is no certificate in `{}`",
            path.display()
        );
        // Any of them may have signed the certificate.
        let bundle = Bundle {
            all: &bundle,
            signers: &bundle,
        };
        Ok(self.configurations.publish(bundle).await)
    }
}
