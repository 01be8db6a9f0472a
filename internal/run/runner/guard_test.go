package runner

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
)

// The flags for a later clean-up connect in the same way as the run, and contain no password.
func TestConnectionFlags(t *testing.T) {
	a := &scenario.RunningCluster{Endpoints: []string{"a:1", "b:2"}, CACert: "ca.crt", SkipVerify: true, User: "root:secret"}
	if got, want := connectionFlags(etcd.New(), a), "--store etcd --endpoints a:1,b:2 --cacert ca.crt --insecure-skip-tls-verify --user root:..."; got != want {
		t.Errorf("connectionFlags returns\n%s, want\n%s", got, want)
	}
}
