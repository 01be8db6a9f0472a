package cli

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/run/cluster"
)

func TestDescribeDown(t *testing.T) {
	m := []string{"m1", "m2", "m3"}
	for _, test := range []struct {
		stopped cluster.Stopped
		want    string
	}{
		{cluster.Stopped{Store: "etcd", StoppedMembers: m}, "stopped 3 members of etcd and removed the data in dir"},
		{cluster.Stopped{Store: "etcd", StoppedMembers: m[:1], ExitedMembers: m[1:]}, "stopped 1 member of etcd (2 more had already ended) and removed the data in dir"},
		{cluster.Stopped{Store: "etcd", ExitedMembers: m}, "removed the data in dir; 3 members of etcd had already ended"},
		{cluster.Stopped{Store: "etcd"}, "removed the data in dir; etcd had no members"},
	} {
		if got := describeDown(&test.stopped, "dir"); got != test.want {
			t.Errorf("%+v is described as %q, want %q", test.stopped, got, test.want)
		}
	}
}
