// SPDX-FileCopyrightText: The a-project-with-a-rather-long-name authors
// SPDX-License-Identifier: Apache-2.0

//! Version v1alpha1 of group a-group-of-26-characters-it.a-rather-long-domain.example.com.

// One module for each kind.
pub mod averylongkindofthirtyoneletters;
// End of the kinds.

// The type of each kind. The module of the kind has its other types.
pub use averylongkindofthirtyoneletters::Averylongkindofthirtyoneletters;
// End of the types.
