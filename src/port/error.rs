//! Go projects that are refused. The command adds hints to these errors.

/// Why a Go project is refused.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing in the folder says the domain of the API groups.
    #[error(
        "`{0}` is not the folder of an operator in Go: it has neither kubebuilder's PROJECT file with a `domain`, nor \
         CRDs in `config/crd`"
    )]
    NoOperator(String),
    /// The name of the project cannot be the name of its crate.
    #[error(transparent)]
    CrateName(anyhow::Error),
    /// No name of the Go project is valid.
    #[error("the Go project has no name that this project could take")]
    NoName,
}
