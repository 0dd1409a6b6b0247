// SPDX-FileCopyrightText: Example
// SPDX-License-Identifier: MIT

//! Version v1 of group on.example.com.

// One module for each kind.
pub mod yes;
// End of the kinds.

// The type of each kind. The module of the kind has its other types.
pub use yes::Yes;
// End of the types.
