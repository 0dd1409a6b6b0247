//! Certificates in a folder, which another program maintains. The server itself reads the certificates. This module
//! makes the API server trust the authorities that signed them.

use std::{fs, io, path::PathBuf, time::Duration};

use anyhow::{Context, Result, ensure};
use rustls::pki_types::{CertificateDer, pem::PemObject};
use tokio::time::{interval, timeout};

use super::{WAITS, configurations::Configurations};
use crate::runtime::trouble::{Trouble, says};

/// How often the authorities are read again and compared with those that the API server trusts.
const INTERVAL: Duration = Duration::from_secs(30);

/// A folder of certificates.
pub(super) struct Files {
    pub folder: PathBuf,
    pub configurations: Configurations,
}

impl Files {
    /// Makes the API server trust the authorities in `ca.crt`. Without that file, another program must do that.
    pub async fn publish(self) {
        let mut trouble = Trouble::new(WAITS);
        let mut ticks = interval(INTERVAL);
        loop {
            ticks.tick().await;
            let ended = match timeout(INTERVAL, self.look()).await {
                Ok(Ok(None)) => Ok(()),
                Ok(Ok(Some(missing))) => Err(missing),
                Ok(Err(error)) => Err(says(&error)),
                Err(_) => Err("the API server does not answer".to_owned()),
            };
            match ended {
                Ok(()) => trouble.ends(),
                Err(error) => trouble.is(error),
            }
        }
    }

    async fn look(&self) -> Result<Option<String>> {
        let path = self.folder.join("ca.crt");
        let bundle = match fs::read_to_string(&path) {
            Ok(bundle) => bundle,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read `{}`", path.display()));
            }
        };
        let authorities = CertificateDer::pem_slice_iter(bundle.as_bytes());
        let authorities = authorities.filter(Result::is_ok).count();
        let path = path.display();
        ensure!(authorities > 0, "there is no certificate in `{path}`");
        self.configurations.publish(&bundle).await
    }
}
