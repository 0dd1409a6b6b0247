//! Reads the expressions of lists of finalizers.

use std::{ops::Range, sync::Arc};

use super::{
    Action, FinalizerObject, FinalizerTarget, Finder, MAX_PATH, MAX_PLACES, MAX_READS, action,
    owner, sets,
};
use crate::port::{
    go::written,
    go_file::File,
    go_tokens::Token,
    go_types::{MAX_FUNCTION, last_bracket},
};

impl<'a> Finder<'a> {
    /// Begins to read the list that the object before the token at `at` gets.
    pub(super) fn begin(&mut self, file: &File, at: usize) {
        self.seen.clear();
        let path = owner(file, at).filter(|path| path.len() <= MAX_PATH);
        self.own = path.map_or_else(Vec::new, |path| file.tokens[path].to_vec());
    }

    /// Reads a list of finalizers that objects get. Returns whether all parts of the list are known.
    pub(super) fn list(
        &mut self,
        file: &'a File,
        expression: Range<usize>,
        target: &FinalizerTarget,
        steps: usize,
    ) -> bool {
        let Some(steps) = steps.checked_sub(1).filter(|_| self.reads < MAX_READS) else {
            return false;
        };
        self.reads += 1;
        let Range { start, end } = expression;
        let tokens = &file.tokens[start..end];
        let open = last_bracket(file, start..end);
        match (open, tokens) {
            (None, [Token::Name(name)]) if name == "nil" => true,
            (None, [Token::Name(name)]) => self.list_in_variable(file, start, name, target, steps),
            // The finalizers of an object, or a part of them. A setting may have a field of this name, too.
            (None, [.., Token::Name(name)]) if name == "Finalizers" => {
                let Some(path) = owner(file, end - 1) else {
                    return false;
                };
                let objects = self.target(file, &path).objects;
                let is_kind = |object: &FinalizerObject| {
                    matches!(object, FinalizerObject::Kind(_) | FinalizerObject::Other(_))
                };
                self.own == file.tokens[path] || objects.iter().any(is_kind)
            }
            (Some(open), _) if file.is_sign(open, '[') => {
                self.list(file, start..open, target, steps)
            }
            (Some(open), [Token::Sign('['), ..]) if file.is_sign(open, '{') => {
                let mut is_known = true;
                for value in file.arguments(open) {
                    is_known &= self.element(file, open, &value, target, steps);
                }
                is_known
            }
            (Some(open), _) if file.is_sign(open, '(') && open > start => {
                self.list_of_call(file, start, open, target, steps)
            }
            _ => false,
        }
    }

    /// Reads the list that a call returns, whose arguments begin at `open`.
    fn list_of_call(
        &mut self,
        file: &'a File,
        start: usize,
        open: usize,
        target: &FinalizerTarget,
        steps: usize,
    ) -> bool {
        let at = open - 1;
        let arguments = file.arguments(open);
        let package = file.qualifier(at).map(|name| file.package(name));
        let is_of_slices = package == Some("slices");
        let (lists, values) = match (file.name(at).unwrap_or(""), arguments.as_slice()) {
            ("GetFinalizers", []) | ("make", _) => return true,
            ("append", [_, ..]) => {
                self.appends.insert((Arc::clone(&file.path), at));
                arguments.split_at(1)
            }
            ("Insert", [_, _, ..]) if is_of_slices => (&arguments[..1], &arguments[2..]),
            ("Clip" | "Clone" | "Compact" | "Concat", lists) if is_of_slices => (lists, &[][..]),
            // `[]string(list)`
            ("string", lists @ [_]) if file.is_sign(start, '[') => (lists, &[][..]),
            (function, _) if takes_out(function) => return true,
            // A function that adds a text to a list.
            (function, [list, values @ ..])
                if !values.is_empty()
                    && action(function) == Action::Add
                    && values
                        .iter()
                        .all(|value| self.is_known_finalizer(file, value)) =>
            {
                let is_known = self.list(file, list.clone(), target, steps);
                for value in values.iter().filter(|_| is_known) {
                    self.setting(file, at, value, target, Action::Add);
                }
                return is_known;
            }
            _ => return false,
        };
        let mut is_known = true;
        for list in lists {
            is_known &= self.list(file, list.clone(), target, steps);
        }
        for value in values {
            is_known &= self.element(file, at, value, target, steps);
        }
        is_known
    }

    /// Reads what the function around `at` assigns to a variable with a list.
    fn list_in_variable(
        &mut self,
        file: &'a File,
        at: usize,
        name: &str,
        target: &FinalizerTarget,
        steps: usize,
    ) -> bool {
        let Some(function) = file.around(at) else {
            return false;
        };
        let mut is_known = false;
        let within = function.tokens.clone().take(MAX_FUNCTION);
        let names = within.filter(|other| file.name(*other) == Some(name));
        let values: Vec<_> = names.filter_map(|other| file.value(other)).collect();
        for value in values.into_iter().take(MAX_PATH) {
            // `list = append(list, value)`
            let is_own = !self.seen.insert(value.start);
            is_known = is_own || self.list(file, value, target, steps);
            if !is_known {
                break;
            }
        }
        is_known
    }

    /// Reads an element of a list of finalizers, or with three dots the elements of another list.
    pub(super) fn element(
        &mut self,
        file: &'a File,
        at: usize,
        value: &Range<usize>,
        target: &FinalizerTarget,
        steps: usize,
    ) -> bool {
        if value.len() > 3 && file.is_sign(value.end - 1, '.') {
            return self.list(file, value.start..value.end - 3, target, steps);
        }
        // `for _, finalizer := range list` gives elements of the list itself.
        if !is_element(file, value) {
            self.setting(file, at, value, target, Action::Add);
        }
        true
    }

    /// Reports a list of finalizers that is not understood.
    pub(super) fn not_understood(&mut self, file: &File, at: usize, list: &Range<usize>) {
        if self.unclear.len() < MAX_PLACES {
            let place = file.place(at);
            let line = sets(&written(&file.tokens[list.clone()]), &place);
            self.unclear.insert(place, line);
        }
    }
}

/// Whether a function returns a list without some elements, by its name.
fn takes_out(function: &str) -> bool {
    const WORDS: [&str; 5] = ["without", "filter", "exclude", "difference", "subtract"];
    let lower = function.to_ascii_lowercase();
    action(function) == Action::Remove || WORDS.iter().any(|word| lower.contains(word))
}

/// Whether a value is the variable of a loop over a list.
fn is_element(file: &File, value: &Range<usize>) -> bool {
    let (Some(name), Some(function)) = (file.name(value.start), file.around(value.start)) else {
        return false;
    };
    let mut before = (function.tokens.start..value.start).take(MAX_FUNCTION);
    value.len() == 1
        && before.any(|at| {
            file.name(at) == Some(name)
                && (file.assigned(at)).is_some_and(|value| file.name(value) == Some("range"))
        })
}
