//! Builds images with podman. podman has a separate store, so the tests use neither the images of this machine's user
//! nor an external registry.

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

/// The name of this machine's platform in images and in ELF headers, and the base image of the Dockerfile's last stage
/// for this platform.
pub const PLATFORM: &str = if ARM { "linux/arm64" } else { "linux/amd64" };
pub const MACHINE: &str = if ARM { "AArch64" } else { "X86-64" };
pub const BASE: &str = if ARM {
    "localhost/base:arm64"
} else {
    "localhost/base:amd64"
};
const ARM: bool = cfg!(target_arch = "aarch64");

/// The required programs, and the Debian package of each program.
const REQUIRED: [(&str, &str); 3] = [
    ("podman", "podman"),
    ("debootstrap", "debootstrap"),
    ("readelf", "binutils"),
];

/// podman, the base images of a Dockerfile, and a registry to push to.
pub struct Images {
    folder: PathBuf,
    registry: Registry,
}

impl Images {
    /// Starts a registry, and builds the base images in `target/containers` if they are missing, which takes some
    /// minutes.
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
        // Containers use the network of this machine, because a build downloads crates.
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

    /// Returns a command for a program that runs podman. The program has its own mount namespace, because podman leaves
    /// mounts behind.
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
            // This isolation works wherever the tests run as root, also in a container.
            .env("BUILDAH_ISOLATION", "chroot");
        command
    }

    /// Returns the name of an image in the registry. The registry keeps images until `self` is dropped.
    pub fn in_registry(&self, name: &str) -> String {
        format!("{}/{name}", self.registry.address)
    }

    /// Runs podman with arguments separated by spaces, and returns its output.
    pub fn podman(&self, arguments: &str) -> String {
        run(self.command("podman").args(arguments.split(' ')))
    }

    /// Returns a make command in `folder`, with arguments separated by spaces. Targets that need a container tool use
    /// podman. All output goes to stdout, because a build prints to stderr.
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

    /// Returns the size of an image in bytes.
    pub fn size(&self, image: &str) -> u64 {
        let size = self.podman(&format!("image inspect --format={{{{.Size}}}} {image}"));
        size.trim().parse().expect("a number")
    }

    /// Returns the paths of the shells in an image.
    pub fn shells(&self, image: &str) -> String {
        let script = r#"
            find "$(podman image mount "$1")" ! -type d \
                \( -name sh -o -name bash -o -name dash -o -name busybox \)"#;
        run(self.command("sh").args(["-ec", script, "sh", image]))
    }

    /// Returns the section headers of the operator in an image, as readelf prints them.
    pub fn sections(&self, image: &str) -> String {
        let script = r#"readelf --wide --section-headers "$(podman image mount "$1")/manager""#;
        run(self.command("sh").args(["-ec", script, "sh", image]))
    }

    /// Pulls an image into an empty store, and returns the ELF header of the operator in the image.
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
        // The registry ends when its stdin is closed, which happens at the end of this process, even after a crash.
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
