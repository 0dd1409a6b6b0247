//! Conversions between types that the user has written: code that is made from the files on disk, not from `PROJECT`.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use serde_json::json;

use super::Turn;
use crate::{
    engine::{Texts, reconcile::Sides},
    render::{ConversionFile, Templates},
};

impl Turn<'_> {
    /// The conversions between types that differ from the render, if the file of the conversion is new, or if the
    /// command has the types of a version. The user's types decide, because they are what the code is compiled with.
    pub(super) fn conversions(&self, sides: &Sides) -> Result<Texts> {
        let mut texts = Texts::new();
        // The files that list conversions, each with the versions that have no status.
        let mut lists = BTreeMap::new();
        for conversion in &self.rendered.conversions {
            if sides.get(&conversion.path).base.is_none() || self.has_types_of(conversion) {
                lists.insert(&conversion.list, BTreeSet::new());
            }
        }
        for conversion in &self.rendered.conversions {
            let Some(without_status) = lists.get_mut(&conversion.list) else {
                continue;
            };
            let file = sides.get(&conversion.path);
            let Some(theirs) = &file.theirs else {
                continue;
            };
            let (text, has_status) = conversion.text(|types| sides.get(types).after());
            if self.has_types_of(conversion) || file.base.is_none() && text != *theirs {
                texts.insert(conversion.path.clone(), text);
            }
            if !has_status {
                without_status.insert(&conversion.version);
            }
        }
        lists.retain(|list, versions| !versions.is_empty() && sides.get(list).theirs.is_some());
        if lists.is_empty() {
            return Ok(texts);
        }
        let templates = Templates::new(&self.after)?;
        for (list, versions) in lists {
            let addition = json!({ "without_status": versions });
            texts.extend(self.rendered.file(&templates, list, &addition)?);
        }
        Ok(texts)
    }

    /// Whether types that the conversion is made from come with the command.
    fn has_types_of(&self, conversion: &ConversionFile) -> bool {
        (self.edits.texts.keys()).any(|path| conversion.is_of(path))
    }
}
