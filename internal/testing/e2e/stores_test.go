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
	"github.com/quorumbench/quorumbench/internal/testing/servers/smalljvm"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// eachStore runs a test for the stores that the function `suits` accepts. `make test-long` tests
// all these stores in parallel. CI tests only one of them, and only a store whose server
// quorumbench contains or installs. The name of the test determines which store. The test's
// parameter `exec` is the path of the store's server, or an empty string if quorumbench's own
// binary contains the server.
func eachStore(t *testing.T, suits func(store.Store) bool, test func(t *testing.T, st store.Store, exec string)) {
	t.Helper()
	var suitable []store.Store
	for _, st := range registry.All() {
		if (suits == nil || suits(st)) && (settle.Long() || providesServer(t, st)) {
			suitable = append(suitable, st)
		}
	}
	for _, st := range settle.Sample(t, 1, suitable) {
		t.Run(st.Name(), func(t *testing.T) {
			t.Parallel()
			test(t, st, server(t, st))
		})
	}
}

// providesServer reports whether quorumbench contains or installs a store's server.
func providesServer(t *testing.T, st store.Store) bool {
	t.Helper()
	source, err := st.Server("")
	if err != nil {
		t.Fatal(err)
	}
	return source.Kind == store.BuiltIn || source.Installable()
}

// server returns the path of a store's server. If the server is missing, it skips the test with a
// message that states how to provide it: run `stores install`, or set a variable to the server's
// path.
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

// withStore replaces STORE in a scenario by the store's name, and adds the path of its server if
// quorumbench's own binary does not contain the server. ZooKeeper's Java gets options with which a
// short run needs less CPU time.
func withStore(scenario string, st store.Store, exec string) string {
	which := "store: " + st.Name()
	if exec != "" {
		which += fmt.Sprintf(", exec: %q", exec)
	}
	if st.Name() == "zookeeper" {
		which += fmt.Sprintf(`, settings: {jvm-options: ["%s"]}`, strings.Join(smalljvm.Options, `", "`))
	}
	return strings.ReplaceAll(scenario, "STORE", which)
}
