//go:build linux

package e2e_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/install"
	"github.com/quorumbench/quorumbench/internal/store/registry"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// eachStore runs a test in parallel for the stores that suit it: for two of them in CI,
// which differ between tests, and for all in make test-long. exec is the server's path;
// empty for a server in quorumbench's own binary.
func eachStore(t *testing.T, suits func(store.Store) bool, test func(t *testing.T, st store.Store, exec string)) {
	t.Helper()
	var suitable []store.Store
	for _, st := range registry.All() {
		if suits == nil || suits(st) {
			suitable = append(suitable, st)
		}
	}
	for _, st := range settle.Sample(t, 2, suitable) {
		t.Run(st.Name(), func(t *testing.T) {
			t.Parallel()
			test(t, st, server(t, st))
		})
	}
}

// server returns the path of a store's server, or skips the test and says what to do:
// `stores install`, or set a variable with the path.
func server(t *testing.T, st store.Store) string {
	t.Helper()
	source, err := st.Server("")
	if err != nil {
		t.Fatal(err)
	}
	if source.Kind == store.BuiltIn {
		return ""
	}
	if source.Installable() {
		path, err := install.Executable("", source)
		if err != nil {
			t.Skip(err)
		}
		return path
	}
	variable := "QUORUMBENCH_" + strings.ToUpper(st.Name())
	path := os.Getenv(variable)
	if path == "" {
		t.Skipf("no registry has %s: set %s to the path of its binary", st.Name(), variable)
	}
	return path
}

// withStore replaces STORE in a scenario by a store, and its server if that is not in
// quorumbench's own binary.
func withStore(scenario string, st store.Store, exec string) string {
	which := "store: " + st.Name()
	if exec != "" {
		which += fmt.Sprintf(", exec: %q", exec)
	}
	return strings.ReplaceAll(scenario, "STORE", which)
}
