//! Images, built with podman in a store of its own: neither those of this machine's user nor a
//! registry of others have a part in it.

use std::{
    env, fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use tempfile::TempDir;

use crate::{
    compile::go_build,
    scaffold::{by_hand, root, run},
};

/// The platform of this machine, as images and as programs name it, and what the Dockerfile's last stage
/// begins with there.
pub const PLATFORM: &str = if ARM { "linux/arm64" } else { "linux/amd64" };
pub const MACHINE: &str = if ARM { "AArch64" } else { "X86-64" };
pub const BASE: &str = if ARM {
    "localhost/base:arm64"
} else {
    "localhost/base:amd64"
};
const ARM: bool = cfg!(target_arch = "aarch64");

/// The programs that it takes, and the Debian package of each.
const REQUIRED: [(&str, &str); 3] = [
    ("podman", "podman"),
    ("debootstrap", "debootstrap"),
    ("readelf", "binutils"),
];

/// podman, the images that a Dockerfile begins with, and a registry to push to.
pub struct Images {
    folder: PathBuf,
    registry: Registry,
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
        let images = Self {
            folder,
            registry: Registry::start(),
        };
        let path = |name: &str| images.folder.join(name).display().to_string();
        let storage = format!(
            "[storage]\ndriver = \"overlay\"\ngraphroot = {:?}\nrunroot = {:?}\n",
            path("storage"),
            path("run"),
        );
        fs::write(path("storage.conf"), storage).expect("a writable file");
        // With the network of this machine, because a build downloads crates.
        let containers = format!(
            "[containers]\nnetns = \"host\"\n\
             [engine]\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"none\"\ntmp_dir = {:?}\n",
            path("tmp"),
        );
        fs::write(path("containers.conf"), containers).expect("a writable file");
        let registries = format!(
            "[[registry]]\nlocation = {:?}\ninsecure = true\n",
            images.registry.address
        );
        fs::write(path("registries.conf"), registries).expect("a writable file");
        run(images
            .command("sh")
            .arg(root().join("tests/operators/node/stand-ins.sh"))
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
            .env(
                "CONTAINERS_REGISTRIES_CONF",
                self.folder.join("registries.conf"),
            )
            // What works wherever the tests run as root, be it in a container.
            .env("BUILDAH_ISOLATION", "chroot");
        command
    }

    /// The name of an image in the registry, which forgets it with the end of this.
    pub fn in_registry(&self, name: &str) -> String {
        format!("{}/{name}", self.registry.address)
    }

    /// podman, with arguments separated by spaces.
    pub fn podman(&self, arguments: &str) -> String {
        run(self.command("podman").args(arguments.split(' ')))
    }

    /// make in `folder`, with arguments separated by spaces and podman for the targets that take one.
    /// All that it says goes to stdout: what a build prints, it prints to stderr.
    pub fn make(&self, folder: &Path, arguments: &str) -> Command {
        let mut make = self.command("sh");
        make.args([
            "-c",
            r#"exec make "$@" 2>&1"#,
            "sh",
            "CONTAINER_TOOL=podman",
        ])
        .args(arguments.split(' '))
        .current_dir(folder);
        make
    }

    /// The size in bytes.
    pub fn size(&self, image: &str) -> u64 {
        let size = self.podman(&format!("image inspect --format={{{{.Size}}}} {image}"));
        size.trim().parse().expect("a number")
    }

    /// The shells in an image.
    pub fn shells(&self, image: &str) -> String {
        let script = r#"
            find "$(podman image mount "$1")" ! -type d \
                \( -name sh -o -name bash -o -name dash -o -name busybox \)"#;
        run(self.command("sh").args(["-ec", script, "sh", image]))
    }

    /// The section headers of the operator in an image, as readelf shows them.
    pub fn sections(&self, image: &str) -> String {
        let script = r#"readelf --wide --section-headers "$(podman image mount "$1")/manager""#;
        run(self.command("sh").args(["-ec", script, "sh", image]))
    }

    /// The header of the operator in an image that somebody pulls who has nothing of it.
    pub fn pulled_elf_header(&self, image: &str, platform: &str) -> String {
        let store = TempDir::new().expect("a temporary folder");
        let script = r#"
            podman() { command podman --root "$store/root" --runroot "$store/run" "$@"; }
            podman pull --quiet --platform "$2" "$1" >&2
            readelf --file-header "$(podman image mount "$1")/manager""#;
        run(self
            .command("sh")
            .args(["-ec", script, "sh", image, platform])
            .env("store", store.path()))
    }
}

/// A registry on the loopback interface, without TLS.
struct Registry {
    process: Child,
    address: String,
}

impl Registry {
    fn start() -> Self {
        // However this process ends, the registry's stdin ends with it.
        let mut process = Command::new(go_build("registry", "."))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a registry");
        let stdout = process.stdout.take().expect("a pipe");
        let mut address = String::new();
        BufReader::new(stdout)
            .read_line(&mut address)
            .expect("its address");
        Self {
            process,
            address: address.trim().to_owned(),
        }
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}
