//! Images, built with podman in a store of its own: neither those of this machine's user nor a
//! registry have a part in it.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::scaffold::{by_hand, root, run};

/// What the Dockerfile's last stage begins with.
pub const BASE: &str = "gcr.io/distroless/cc-debian13:nonroot";

/// The programs that it takes, and the Debian package of each.
const REQUIRED: [(&str, &str); 3] = [
    ("podman", "podman"),
    ("debootstrap", "debootstrap"),
    ("readelf", "binutils"),
];

/// podman and the images that a Dockerfile begins with.
pub struct Images {
    folder: PathBuf,
}

impl Images {
    /// Makes what is missing, which takes some minutes once; it lies in `target/containers`.
    pub fn new() -> Self {
        let path = env::var_os("PATH").unwrap_or_default();
        let found = |name| env::split_paths(&path).any(|folder| folder.join(name).is_file());
        let missing: Vec<_> = REQUIRED
            .iter()
            .filter(|(program, _)| !found(program))
            .map(|(_, package)| *package)
            .collect();
        assert!(
            missing.is_empty(),
            "an image takes what is not there: `make test-e2e` installs it, or \
             `apt-get install --yes --no-install-recommends {}`",
            missing.join(" "),
        );

        let folder = root().join("target/containers");
        fs::create_dir_all(&folder).expect("a folder for images");
        let images = Self { folder };
        let path = |name: &str| images.folder.join(name).display().to_string();
        let storage = format!(
            "[storage]\ndriver = \"overlay\"\ngraphroot = {:?}\nrunroot = {:?}\n",
            path("storage"),
            path("run"),
        );
        fs::write(path("storage.conf"), storage).expect("a writable file");
        let (cargo, rustup) = rust();
        // With the network of this machine, because a build downloads crates.
        let containers = format!(
            "[containers]\nnetns = \"host\"\n\
             volumes = [\"{}:/usr/local/cargo\", \"{}:/usr/local/rustup:ro\"]\n\
             [engine]\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"none\"\ntmp_dir = {:?}\n",
            cargo.display(),
            rustup.display(),
            path("tmp"),
        );
        fs::write(path("containers.conf"), containers).expect("a writable file");
        run(images
            .command("sh")
            .arg(root().join("tests/node/stand-ins.sh"))
            .arg(path("rootfs")));
        images
    }

    /// A program that runs podman, in a namespace for mounts: podman leaves some behind.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new("unshare");
        by_hand(&mut command)
            .args(["--mount", "--", program])
            .env("CONTAINERS_STORAGE_CONF", self.folder.join("storage.conf"))
            .env("CONTAINERS_CONF", self.folder.join("containers.conf"))
            // What works wherever the tests run as root, be it in a container.
            .env("BUILDAH_ISOLATION", "chroot");
        command
    }

    /// podman, with arguments separated by spaces.
    pub fn podman(&self, arguments: &str) -> String {
        run(self.command("podman").args(arguments.split(' ')))
    }

    /// Builds the image of the project in `folder` with its own Makefile, and gives what that said.
    pub fn build(&self, folder: &Path, image: &str) -> String {
        // What a build prints, it prints to stderr.
        let mut make = self.command("sh");
        make.args(["-c", r#"exec make "$@" 2>&1"#, "sh", "docker-build"])
            .args(["CONTAINER_TOOL=podman", &format!("IMG={image}")])
            .current_dir(folder);
        run(&mut make)
    }

    /// The size in bytes.
    pub fn size(&self, image: &str) -> u64 {
        let size = self.podman(&format!("image inspect --format={{{{.Size}}}} {image}"));
        size.trim().parse().expect("a number")
    }

    /// A file of an image, copied to `target`.
    pub fn extract(&self, image: &str, file: &str, target: &Path) {
        run(self
            .command("sh")
            .args(["-ec", r#"cp "$(podman image mount "$1")$2" "$3""#, "sh"])
            .args([image, file])
            .arg(target));
    }
}

/// The folders of the machine's cargo and rustup.
fn rust() -> (PathBuf, PathBuf) {
    let folder = |variable: &str, default: &str| {
        let home = env::home_dir().expect("a home folder").join(default);
        let folder = env::var_os(variable).map_or(home, PathBuf::from);
        assert!(
            folder.is_dir(),
            "`{}` is not there: an image is built with the Rust of rustup, https://rustup.rs",
            folder.display()
        );
        folder
    };
    (
        folder("CARGO_HOME", ".cargo"),
        folder("RUSTUP_HOME", ".rustup"),
    )
}
