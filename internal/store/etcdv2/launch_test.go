package etcdv2

import (
	"slices"
	"testing"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

func twoMembers(dir string) store.LaunchSpec {
	s := storetest.TwoMemberSpec(dir)
	s.Exec = "/opt/etcd"
	return s
}

func TestLaunch(t *testing.T) {
	s := twoMembers("/data")
	no := false
	s.Settings = &Settings{SnapshotCount: 77, UnsafeNoFsync: true, PreVote: &no, LogLevel: "warn"}
	l, err := New().Launch(s)
	if err != nil {
		t.Fatal(err)
	}
	if l.Synced || len(l.Notes) != 1 || l.StartTimeout <= 0 || len(l.Processes) != 2 {
		t.Errorf("launch %+v", l)
	}
	p := l.Processes[0]
	if p.Path != "/opt/etcd" || p.Endpoint != "127.5.6.7:2001" || len(p.Files) != 0 {
		t.Errorf("process %+v", p)
	}
	for _, want := range []string{
		"--enable-v2=true", "--name=m1", "--data-dir=/data/m1/data", "--listen-client-urls=http://127.5.6.7:2001",
		"--initial-cluster=m1=http://127.5.6.7:2002,m2=http://127.5.6.7:2006", "--initial-cluster-token=c1",
		"--snapshot-count=77", "--unsafe-no-fsync=true", "--pre-vote=false", "--log-level=warn",
	} {
		if !slices.Contains(p.Args, want) {
			t.Errorf("the arguments lack %s: %s", want, p.Args)
		}
	}
}

func TestLaunchRefuses(t *testing.T) {
	storetest.CheckLaunchRefuses(t, New(), twoMembers, map[string]func(*store.LaunchSpec){
		"log level":      func(s *store.LaunchSpec) { s.Settings = &Settings{LogLevel: "x"} },
		"long election":  func(s *store.LaunchSpec) { s.Settings = &Settings{ElectionTimeout: 60_000} },
		"short election": func(s *store.LaunchSpec) { s.Settings = &Settings{HeartbeatInterval: 300} },
	})
}

func TestServerSource(t *testing.T) { storetest.ServerVersions(t, New(), "3.6.0") }
