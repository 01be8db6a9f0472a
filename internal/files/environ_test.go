package files

import (
	"slices"
	"testing"
)

func TestCleanKeepsNeededVariables(t *testing.T) {
	for name, value := range map[string]string{
		"PATH": "/bin", "HOME": "/h", "TMPDIR": "", "JAVA_HOME": "/j", "ETCD_UNSAFE_NO_FSYNC": "true",
		"JAVA_TOOL_OPTIONS": "-Dx", "LD_PRELOAD": "", "GOPROXY": "p",
	} {
		t.Setenv(name, value)
	}
	if got, want := CleanEnviron(), []string{"PATH=/bin", "HOME=/h", "TMPDIR=", "JAVA_HOME=/j"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := CleanEnviron("GOPROXY", "GO_NOT_SET"), []string{"PATH=/bin", "HOME=/h", "TMPDIR=", "JAVA_HOME=/j", "GOPROXY=p"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if len(environNames) != 4 {
		t.Errorf("CleanEnviron changed the list of names to %q", environNames[:])
	}
}
