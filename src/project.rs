//! The `PROJECT` file: what the project shall be. kubebuilder's version 3 fields and names, with a layout of its own.
