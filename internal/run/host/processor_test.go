package host

import (
	"slices"
	"testing"
)

// Linux and macOS have different names for the same processor, and a program runs on both.
func TestProcessorNames(t *testing.T) {
	for goarch, want := range map[string][]string{"amd64": {"x86_64", "amd64"}, "arm64": {"aarch64", "arm64"}, "riscv64": {"riscv64"}} {
		if got := ProcessorNames(goarch); !slices.Equal(got, want) {
			t.Errorf("%s: %q, not %q", goarch, got, want)
		}
	}
}
