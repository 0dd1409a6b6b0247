//! Merges the projects of two branches.

use std::collections::BTreeSet;

use anyhow::{Result, bail};

use super::{
    definition::Definition, feature::Feature, model::Project, resource::Resource,
    resources::Resources,
};

impl Project {
    /// Merges the changes of `ours` and `theirs` to `parent`, the common ancestor. Without a parent, only equal
    /// projects can be merged.
    ///
    /// # Errors
    /// When the branches changed the same value differently, or the merged project contradicts itself.
    pub fn merge(parent: Option<&Self>, ours: &Self, theirs: &Self) -> Result<Self> {
        let merged = differing_from(parent, ours, theirs)?;
        merged.validate()?;
        Ok(merged)
    }

    /// The common ancestor of `ours` and `theirs`, computed from `merged`, their merge: where the sides differ, the
    /// ancestor has the value that `merged` does not have.
    ///
    /// # Errors
    /// When `merged` is not a merge of the two.
    pub fn parent(ours: &Self, theirs: &Self, merged: &Self) -> Result<Self> {
        differing_from(Some(merged), ours, theirs)
    }
}

/// Sets each field of `$ours` to the result of `pick`. An error names the field and `$of`.
macro_rules! pick_fields {
    ($third:expr, $ours:ident, $theirs:ident, $of:expr; $($field:ident: $name:literal),+ $(,)?) => {$(
        let third = $third.map(|third| &third.$field);
        let (ours, theirs) = ($ours.$field.clone(), $theirs.$field.clone());
        $ours.$field = pick(third, ours, theirs, &format!("`{}`{}", $name, $of))?;
    )+};
}

/// Combines `ours` and `theirs`. Where the sides differ, the result has the value that `third` does not have. With the
/// common ancestor as `third`, the result is the merge; with the merge as `third`, the result is the ancestor.
fn differing_from(third: Option<&Project>, ours: &Project, theirs: &Project) -> Result<Project> {
    let mut result = Project {
        features: BTreeSet::new(),
        resources: Resources::default(),
        ..ours.clone()
    };
    pick_fields!(
        third, result, theirs, "";
        cli_version: "cliVersion", deployment: "deployment", domain: "domain", lease: "lease", license: "license",
        license_header: "licenseHeader",
        namespace: "namespace", namespaced: "namespaced", owner: "owner",
        project_name: "projectName",
        repo: "repo", runtime: "runtime", workspace: "workspace",
    );
    for feature in Feature::all() {
        let what = format!("the feature `{feature}`");
        let in_third = third.map(|third| third.has(*feature));
        if pick(
            in_third.as_ref(),
            ours.has(*feature),
            theirs.has(*feature),
            &what,
        )? {
            result.features.insert(*feature);
        }
    }
    let resources = theirs.resources.iter();
    let others = resources.filter(|resource| ours.there(resource).is_none());
    for resource in ours.resources.iter().chain(others) {
        let in_third = third.map(|third| third.there(resource));
        let picked = match (in_third, ours.there(resource), theirs.there(resource)) {
            (Some(Some(third)), Some(ours), Some(theirs)) => {
                Some(pick_resource(third, ours.clone(), theirs)?)
            }
            (third, ours, theirs) => {
                pick(third.as_ref(), ours, theirs, &resource.to_string())?.cloned()
            }
        };
        result.resources.extend(picked);
    }
    result.sort();
    Ok(result)
}

/// Like [`differing_from`], for a resource that all three projects have.
fn pick_resource(third: &Resource, mut ours: Resource, theirs: &Resource) -> Result<Resource> {
    let of = format!(" of {ours}");
    pick_fields!(
        Some(third), ours, theirs, of;
        domain: "domain", namespaced: "namespaced", plural: "plural", short_names: "shortNames",
    );
    if let (Definition::Own(third), Definition::Own(ours), Definition::Own(theirs)) =
        (&third.definition, &mut ours.definition, &theirs.definition)
    {
        pick_fields!(
            Some(third), ours, theirs, of;
            stage: "served", deprecation: "deprecated", conversion: "conversion", types: "types",
        );
        let [third, mut spokes, theirs] = [third, &*ours, theirs].map(|side| {
            let spokes = side.spokes.iter().flatten();
            spokes.cloned().collect::<Vec<_>>()
        });
        pick_entries(&third, &mut spokes, theirs);
        ours.spokes = (!spokes.is_empty()).then(|| spokes.into_iter().collect());
    } else {
        pick_fields!(Some(third), ours, theirs, of; definition: "api");
    }
    let (webhooks, theirs_webhooks) = (&mut ours.webhooks, &theirs.webhooks);
    pick_fields!(
        Some(&third.webhooks), webhooks, theirs_webhooks, of;
        defaulting: "defaulting", validation: "validation",
    );
    let both = ours.controllers.iter().chain(&theirs.controllers);
    let names: BTreeSet<_> = both.map(|controller| &controller.name).collect();
    let mut controllers = Vec::new();
    for name in names {
        let what = format!("the controller `{name}`{of}");
        let [third, ours, theirs] =
            [third, &ours, theirs].map(|side| side.controller(name).cloned());
        let picked = match (third, ours, theirs) {
            (Some(third), Some(mut ours), Some(theirs)) => {
                pick_fields!(
                    Some(&third), ours, theirs, format!(" of {what}");
                    field_manager: "fieldManager", finalizer: "finalizer",
                    finalizer_name: "finalizerName", image: "image", types: "types",
                );
                pick_entries(&third.owns, &mut ours.owns, theirs.owns);
                pick_entries(&third.watches, &mut ours.watches, theirs.watches);
                Some(ours)
            }
            (third, ours, theirs) => pick(Some(&third), ours, theirs, &what)?,
        };
        controllers.extend(picked);
    }
    ours.controllers = controllers;
    Ok(ours)
}

/// Combines lists entry by entry: an entry that only one side has stays if `third` does not have it.
fn pick_entries<T: PartialEq>(third: &[T], ours: &mut Vec<T>, theirs: Vec<T>) {
    ours.retain(|entry| !third.contains(entry) || theirs.contains(entry));
    for entry in theirs {
        if !third.contains(&entry) && !ours.contains(&entry) {
            ours.push(entry);
        }
    }
}

/// The value that both sides have. If they differ, the value that `third` does not have. An error says that the
/// branches disagree on `what`.
fn pick<T: PartialEq>(third: Option<&T>, ours: T, theirs: T, what: &str) -> Result<T> {
    if ours == theirs || third == Some(&theirs) {
        Ok(ours)
    } else if third == Some(&ours) {
        Ok(theirs)
    } else {
        bail!("the branches disagree on {what}")
    }
}

#[cfg(test)]
mod tests {
    use proptest::{prelude::*, sample::subsequence};

    use super::{
        super::{
            controller::Controller,
            definition::{ConversionStrategy, Deprecation, Own, Stage, Types},
            for_tests::{
                api, at_stage, empty, unserved, with_controller, with_short_name,
                without_controller,
            },
            image::Image,
            model::License,
        },
        *,
    };

    fn with(resources: impl IntoIterator<Item = Resource>) -> Project {
        let mut project = empty();
        project.resources.extend(resources);
        project.sort();
        project
    }

    fn page() -> Resource {
        api("webapp", "v1", "Page")
    }

    fn captain() -> Resource {
        api("crew", "v1", "Captain")
    }

    fn error(parent: Option<&Project>, ours: &Project, theirs: &Project) -> String {
        let merged = Project::merge(parent, ours, theirs);
        merged.unwrap_err().to_string()
    }

    #[test]
    fn a_resource_of_one_branch_is_new_or_deleted_on_the_other() {
        let (none, one, other, both) = (
            with([]),
            with([page()]),
            with([captain()]),
            with([page(), captain()]),
        );
        assert_eq!(Project::merge(Some(&none), &one, &other).unwrap(), both);
        assert_eq!(Project::merge(Some(&both), &one, &other).unwrap(), none);
        assert_eq!(Project::merge(Some(&one), &both, &none).unwrap(), other);
        assert_eq!(Project::merge(None, &one, &one).unwrap(), one);
        assert_eq!(
            error(None, &one, &none),
            "the branches disagree on `webapp/v1/Page`"
        );
    }

    #[test]
    fn a_change_of_one_branch_is_taken_and_one_of_both_is_refused() {
        let [apache, mit, none] = [License::Apache2, License::Mit, License::None]
            .map(|license| Project { license, ..empty() });
        for (ours, theirs) in [(&apache, &mit), (&mit, &apache)] {
            assert_eq!(Project::merge(Some(&apache), ours, theirs).unwrap(), mit);
        }
        assert_eq!(
            error(Some(&apache), &mit, &none),
            "the branches disagree on `license`"
        );

        let [backup, audit] = ["backup", "audit"].map(|name| with([with_controller(page(), name)]));
        let parent = with([page()]);
        assert_eq!(
            Project::merge(Some(&parent), &backup, &parent).unwrap(),
            backup
        );
        let both = with_controller(with_controller(page(), "audit"), "backup");
        let merged = Project::merge(Some(&parent), &backup, &audit).unwrap();
        assert_eq!(merged, with([both]));
    }

    /// A kind whose second version is at this stage, with this deprecation.
    fn with_second(stage: Stage, warning: &str) -> Project {
        let own = Own {
            stage,
            deprecation: warning.parse().unwrap(),
            ..Own::further(ConversionStrategy::None)
        };
        let second = Resource {
            definition: Definition::Own(own),
            ..without_controller(api("webapp", "v2", "Page"))
        };
        with([
            at_stage(page(), Stage::Stored, ConversionStrategy::None),
            second,
        ])
    }

    #[test]
    fn changes_of_one_kind_are_merged_field_by_field() {
        let [finalizer, owns, other] =
            [(true, ""), (false, "v1/Secret"), (false, "v1/Pod")].map(|(finalizer, owned)| {
                let mut page = page();
                page.controllers[0].finalizer = finalizer;
                page.controllers[0].owns.extend(owned.parse());
                page
            });
        let both = Resource {
            controllers: vec![Controller {
                finalizer: true,
                ..owns.controllers[0].clone()
            }],
            ..page()
        };
        let (parent, finalizer) = (with([page()]), with([finalizer]));
        let [owns, other] = [owns, other].map(|page| with([page]));
        let merged = Project::merge(Some(&parent), &finalizer, &owns).unwrap();
        assert_eq!(merged, with([both]));
        let both = Project::merge(Some(&parent), &owns, &other).unwrap();
        assert_eq!(both.resources[0].controllers[0].owns.len(), 2);
        assert_eq!(Project::merge(Some(&both), &owns, &other).unwrap(), parent);
        assert_eq!(Project::merge(Some(&both), &owns, &both).unwrap(), owns);

        let before = with_second(Stage::Unserved, "false");
        let served = with_second(Stage::Served, "false");
        let deprecated = with_second(Stage::Unserved, "use v3");
        let both = with_second(Stage::Served, "use v3");
        assert_eq!(
            Project::merge(Some(&before), &served, &deprecated).unwrap(),
            both
        );
        assert_eq!(
            error(
                Some(&before),
                &deprecated,
                &with_second(Stage::Unserved, "true")
            ),
            "the branches disagree on `deprecated` of `webapp/v2/Page`"
        );

        let [short, long] = ["pg", "pages"].map(|name| with([with_short_name(page(), name)]));
        assert_eq!(
            error(Some(&parent), &short, &long),
            "the branches disagree on `shortNames` of `webapp/v1/Page`"
        );
    }

    #[test]
    fn each_field_of_a_controller_and_of_a_kind_is_taken_from_the_branch_that_changed_it() {
        let deployment = "apps/v1/Deployment".parse().unwrap();
        // Each field differs from its default.
        let controller = Controller {
            field_manager: Some("pages".parse().unwrap()),
            finalizer: true,
            finalizer_name: Some("pages.com/finalizer".parse().unwrap()),
            image: Some(Image {
                command: Vec::new(),
                name: "nginx:1.29".parse().unwrap(),
                port: None,
                run_as_user: None,
            }),
            name: page().kind.controller(),
            owns: vec![deployment],
            types: Types::Given,
            watches: vec!["v1/ConfigMap".parse().unwrap()],
        };
        let own = Own {
            stage: Stage::Stored,
            deprecation: Deprecation::Yes,
            conversion: ConversionStrategy::None,
            spokes: None,
            types: Types::Given,
        };
        let changed = with([Resource {
            controllers: vec![controller],
            definition: Definition::Own(own),
            ..page()
        }]);
        let parent = with([page()]);
        let other = with([with_short_name(page(), "p")]);
        let expected = with([with_short_name(changed.resources[0].clone(), "p")]);
        // The parts need not fit together here.
        for (ours, theirs) in [(&changed, &other), (&other, &changed)] {
            assert_eq!(
                differing_from(Some(&parent), ours, theirs).unwrap(),
                expected
            );
        }
    }

    #[test]
    fn changes_that_contradict_each_other_are_refused() {
        let v1 = api("webapp", "v1", "Page");
        let parent = with([v1.clone()]);
        let served = with([v1.clone(), unserved(api("webapp", "v2", "Page"))]);
        let merged = error(Some(&parent), &served, &with([]));
        assert!(merged.contains("no version of `Page`"), "{merged}");
    }

    #[test]
    fn a_feature_of_one_branch_without_a_parent_is_refused() {
        let mut other = empty();
        other.features.remove(&Feature::Github);
        let expected = "the branches disagree on the feature `github`";
        assert_eq!(error(None, &empty(), &other), expected);
    }

    /// A kind with four versions. The versions `spokes` are served, and converted to the hub `v1alpha1`.
    fn ships(spokes: &[&str]) -> Vec<Resource> {
        let version = |version: &str| {
            let is_spoke = spokes.contains(&version);
            let stage = if is_spoke {
                Stage::Served
            } else {
                Stage::Unserved
            };
            let ship = without_controller(api("sea", version, "Ship"));
            at_stage(ship, stage, ConversionStrategy::Missing)
        };
        let mut hub = api("sea", "v1alpha1", "Ship");
        let versions = spokes.iter().map(|version| version.parse().unwrap());
        hub.own_mut().unwrap().spokes = Some(versions.collect()).filter(|_| !spokes.is_empty());
        let mut ships = ["v1", "v2", "v3"].map(version).to_vec();
        ships.push(hub);
        ships
    }

    fn projects() -> impl Strategy<Value = Project> {
        let kinds = ["Page", "Book", "Shelf", "Author"].map(|kind| api("shop", "v1", kind));
        let features = Feature::all().to_vec();
        let count = features.len();
        (
            subsequence(kinds.to_vec(), 0..=4),
            subsequence(features, 0..=count),
            subsequence(vec!["v1", "v2", "v3"], 0..=3),
        )
            .prop_map(|(kinds, features, spokes)| Project {
                features: features.into_iter().collect(),
                ..with(kinds.into_iter().chain(ships(&spokes)))
            })
    }

    proptest! {
        #[test]
        fn the_parent_of_a_merge_merges_to_the_same_project(
            [parent, ours, theirs] in [projects(), projects(), projects()],
        ) {
            let merged = Project::merge(Some(&parent), &ours, &theirs).unwrap();
            // A change that both branches made is not visible as a difference between them.
            let again = Project::parent(&ours, &theirs, &merged).unwrap();
            prop_assert_eq!(Project::merge(Some(&again), &ours, &theirs).unwrap(), merged);
        }
    }
}
