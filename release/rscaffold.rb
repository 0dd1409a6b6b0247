# The Homebrew formula of rscaffold, which release/formula.sh fills in.
class Rscaffold < Formula
  desc "@DESCRIPTION@"
  homepage "@REPOSITORY@"
  version "@VERSION@"
  license "Apache-2.0"

  on_macos do
    on_arm do
      url "@REPOSITORY@/releases/download/v@VERSION@/rscaffold-aarch64-apple-darwin.tar.gz"
      sha256 "@aarch64-apple-darwin@"
    end
    on_intel do
      url "@REPOSITORY@/releases/download/v@VERSION@/rscaffold-x86_64-apple-darwin.tar.gz"
      sha256 "@x86_64-apple-darwin@"
    end
  end

  on_linux do
    on_arm do
      url "@REPOSITORY@/releases/download/v@VERSION@/rscaffold-aarch64-unknown-linux-gnu.tar.gz"
      sha256 "@aarch64-unknown-linux-gnu@"
    end
    on_intel do
      url "@REPOSITORY@/releases/download/v@VERSION@/rscaffold-x86_64-unknown-linux-gnu.tar.gz"
      sha256 "@x86_64-unknown-linux-gnu@"
    end
  end

  def install
    bin.install "rscaffold"
    man1.install Dir["man/man1/*.1"]
    bash_completion.install "completions/rscaffold.bash" => "rscaffold"
    fish_completion.install "completions/rscaffold.fish"
    zsh_completion.install "completions/_rscaffold"
  end

  test do
    (testpath/"guestbook").mkpath
    cd "guestbook" do
      system bin/"rscaffold", "init", "--domain", "com"
      system bin/"rscaffold", "create", "api", "--group", "webapp", "--version", "v1", "--kind", "Guestbook"
    end
    assert_path_exists testpath/"guestbook/src/api/webapp/v1/guestbook.rs"
  end
end
