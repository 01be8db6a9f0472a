package trial

import (
	"path/filepath"
	"testing"

	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// Every member on this machine may share the device of the history, no matter through which local
// host it was started. A member on another machine does not share it.
func TestSharesDisk(t *testing.T) {
	dir := t.TempDir()
	if _, err := probe.Device(dir); err != nil {
		t.Skip(err)
	}
	here := host.NewLocal(nil, nil)
	for _, test := range []struct {
		what    string
		members []cluster.Member
		want    bool
	}{
		{"no member", nil, false},
		{"a member on a host of this machine", []cluster.Member{{Host: here.WithAddress("127.0.0.9"), DataDir: dir}}, true},
		{"a member on another machine", []cluster.Member{{Host: serving("there"), DataDir: dir}}, false},
		{"a member whose folder does not exist", []cluster.Member{{Host: here, DataDir: filepath.Join(dir, "none")}}, false},
	} {
		if got := sharesDisk(dir, test.members); got != test.want {
			t.Errorf("%s: the disk is shared: %v, want %v", test.what, got, test.want)
		}
	}
}
