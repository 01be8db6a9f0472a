package host

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A process receives its command's environment and the variables that every process needs, but no
// other variables of the process that starts it.
func TestProcessesHaveACleanEnvironment(t *testing.T) {
	for _, name := range []string{"ETCD_UNSAFE_NO_FSYNC", "ETCD_LISTEN_METRICS_URLS", "JAVA_TOOL_OPTIONS", "CONSUL_HTTP_TOKEN", "HTTP_PROXY"} {
		t.Setenv(name, "true")
	}
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "JAVA_HOME"} {
		t.Setenv(name, os.Getenv(name)) // so that it is set
	}
	log := filepath.Join(t.TempDir(), "log")
	p, err := NewLocal(nil, nil).Start(t.Context(), Command{Path: "/usr/bin/env", Env: []string{"GIVEN=1"}, Dir: t.TempDir(), LogFile: log})
	if err != nil {
		t.Skipf("the program env is not available: %v", err)
	}
	<-p.Exited()
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(string(b)) {
		name, _, _ := strings.Cut(line, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	if want := []string{"GIVEN", "HOME", "JAVA_HOME", "PATH", "TMPDIR"}; !slices.Equal(names, want) {
		t.Errorf("the process has the variables %q, want %q", names, want)
	}
}
