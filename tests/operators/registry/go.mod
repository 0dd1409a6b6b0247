// A registry of images, for the tests of what is pushed.
module registry

go 1.26.0

require github.com/google/go-containerregistry v0.22.1
