// SPDX-FileCopyrightText: The a-project-with-a-rather-long-name authors
// SPDX-License-Identifier: Apache-2.0

//! The controllers of group a-group-of-26-characters-it.

// One module for each controller.
pub mod averylongkindofthirtyoneletters;
// End of the controllers.
