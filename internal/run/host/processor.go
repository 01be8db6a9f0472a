package host

import "slices"

// processorNames maps a value of GOARCH to the names that Linux uses. It omits values for which
// Linux uses the same name.
var processorNames = map[string][]string{
	"amd64": {"x86_64"}, "arm64": {"aarch64"}, "386": {"i386", "i686"}, "arm": {"armv6l", "armv7l"}, "loong64": {"loongarch64"},
}

// ProcessorNames returns the words that "uname -m" prints on machines for which a program with this
// GOARCH is built. The names that Linux uses come first; other systems, such as macOS on arm64, print
// the value of GOARCH.
func ProcessorNames(goarch string) []string {
	return append(slices.Clone(processorNames[goarch]), goarch)
}
