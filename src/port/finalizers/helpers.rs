//! Follows the calls of functions of the project that set a finalizer.

use std::collections::BTreeMap;

use super::{Finder, Helper};
use crate::port::{go_file::File, go_types::path_start};

impl<'a> Finder<'a> {
    /// Follows the functions of the project that set a finalizer in one of their parameters, to their calls.
    pub(super) fn helper_calls(&mut self, files: &[&'a File]) {
        let mut calls: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for file in files {
            for (at, function) in file.calls() {
                calls.entry(function).or_default().push((file, at));
            }
        }
        let mut index = 0;
        // A call may add another function.
        while let Some(helper) = self.helpers.get(index) {
            for (file, at) in calls.get(&*helper.function).into_iter().flatten() {
                self.helper_call(file, *at, index);
            }
            index += 1;
        }
        // What is in the parameter of a function that nothing calls is not known.
        for helper in &self.helpers {
            if !helper.is_called {
                self.found.settings.insert(helper.setting.clone());
            }
        }
    }

    /// Reads the call at `at`, if it calls the helper at `index`.
    fn helper_call(&mut self, file: &'a File, at: usize, index: usize) {
        let helper = &self.helpers[index];
        if !helper.is_called_by(file, at) || self.is_of_other_type(helper, file, at) {
            return;
        }
        let arguments = file.arguments(at + 1);
        let object = helper.object.and_then(|object| arguments.get(object));
        let target = object.map(|object| self.target(file, object));
        match (helper.parameter.map(|value| arguments.get(value)), target) {
            (Some(Some(value)), target) => {
                let action = helper.setting.action;
                let in_call = || self.object_in_call(file, &arguments, value);
                let target = target.unwrap_or_else(|| {
                    let object = in_call().unwrap_or_else(|| helper.setting.object.clone());
                    object.into()
                });
                self.helpers[index].is_called = true;
                self.setting(file, at, value, &target, action);
            }
            (None, Some(target)) => {
                let setting = helper.setting.clone();
                self.helpers[index].is_called = true;
                self.record(file, at, None, &target, setting);
            }
            _ => {}
        }
    }

    /// Whether the call at `at` is of the method of this name of another type.
    fn is_of_other_type(&self, helper: &Helper, file: &'a File, at: usize) -> bool {
        if helper.receiver.is_none() {
            return false;
        }
        let Some(last) = file.before_dot(at) else {
            return false;
        };
        let types = (self.types).of(file, path_start(file, last + 1)..last + 1);
        types
            .iter()
            .all(|own| helper.receiver.as_deref() != Some(own.name))
            && types
                .iter()
                .any(|own| self.types.has_method(own.name, &helper.function))
    }
}
