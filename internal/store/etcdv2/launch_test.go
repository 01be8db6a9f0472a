package etcdv2

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

func twoMembers(dir string) store.LaunchSpec {
	return store.LaunchSpec{
		Cluster: "c1",
		Exec:    "/opt/etcd",
		Members: []kv.MemberPlace{
			{Name: "m1", Host: "127.5.6.7", Ports: []int{2001, 2002, 2003, 2004}, Dir: filepath.Join(dir, "m1")},
			{Name: "m2", Host: "127.5.6.7", Ports: []int{2005, 2006, 2007, 2008}, Dir: filepath.Join(dir, "m2")},
		},
	}
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
			t.Errorf("%s is not among %s", want, p.Args)
		}
	}
}

func TestLaunchRefuses(t *testing.T) {
	for name, change := range map[string]func(*store.LaunchSpec){
		"no members":      func(s *store.LaunchSpec) { s.Members = nil },
		"one port":        func(s *store.LaunchSpec) { s.Members[0].Ports = []int{1} },
		"relative folder": func(s *store.LaunchSpec) { s.Members[1].Dir = "m2" },
		"other settings":  func(s *store.LaunchSpec) { s.Settings = "x" },
		"log level":       func(s *store.LaunchSpec) { s.Settings = &Settings{LogLevel: "x"} },
		"long election":   func(s *store.LaunchSpec) { s.Settings = &Settings{ElectionTimeout: 60_000} },
		"short election":  func(s *store.LaunchSpec) { s.Settings = &Settings{HeartbeatInterval: 300} },
	} {
		s := twoMembers("/data")
		change(&s)
		if _, err := New().Launch(s); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestServerSource(t *testing.T) {
	known, err := New().Server("")
	if err != nil {
		t.Fatal(err)
	}
	s, err := New().Server("v" + known.Version)
	if err != nil || s.Version != known.Versions[0] || s.Files == nil {
		t.Errorf("%+v %v", s, err)
	}
	if _, err := New().Server("3.6.0"); err == nil {
		t.Error("a version without the v2 API is taken")
	}
}
