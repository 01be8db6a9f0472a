package consul

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

func twoMembers(dir string) store.LaunchSpec {
	return store.LaunchSpec{
		Cluster: "c1",
		Exec:    "/opt/consul",
		Members: []kv.MemberPlace{
			{Name: "m1", Host: "127.5.6.7", Ports: []int{2001, 2002, 2003, 2004}, Dir: filepath.Join(dir, "m1")},
			{Name: "m2", Host: "127.5.6.7", Ports: []int{2005, 2006, 2007, 2008}, Dir: filepath.Join(dir, "m2")},
		},
	}
}

func TestLaunch(t *testing.T) {
	s := twoMembers("/data")
	s.Settings = &Settings{RaftMultiplier: 3, RaftSnapshotInterval: 7 * time.Second, RaftLogstore: "boltdb", NoFreelistSync: true, LogLevel: "warn"}
	l, err := New().Launch(s)
	if err != nil {
		t.Fatal(err)
	}
	if !l.Synced || len(l.Notes) != 2 || l.StartTimeout <= 0 || len(l.Processes) != 2 {
		t.Errorf("launch %+v", l)
	}
	p := l.Processes[1]
	if p.Path != "/opt/consul" || p.Endpoint != "127.5.6.7:2005" || strings.Join(p.Args, " ") != "agent -config-file=/data/m2/consul.json" {
		t.Errorf("process %+v", p)
	}
	var c struct {
		Node                string   `json:"node_name"`
		Join                []string `json:"retry_join"`
		Expect              int      `json:"bootstrap_expect"`
		Ports               map[string]int
		Limits, Performance map[string]any
		Logstore            struct {
			Backend string
			Boltdb  map[string]any
		} `json:"raft_logstore"`
		Interval string `json:"raft_snapshot_interval"`
	}
	if err := json.Unmarshal(p.Files["/data/m2/consul.json"], &c); err != nil {
		t.Fatal(err)
	}
	if c.Node != "m2" || c.Expect != 2 || strings.Join(c.Join, " ") != "127.5.6.7:2003 127.5.6.7:2007" ||
		c.Ports["http"] != 2005 || c.Ports["server"] != 2006 || c.Ports["serf_lan"] != 2007 || c.Ports["grpc_tls"] != -1 ||
		c.Limits["http_max_conns_per_client"] != 10_000.0 || c.Performance["raft_multiplier"] != 3.0 ||
		c.Logstore.Backend != "boltdb" || c.Logstore.Boltdb["no_freelist_sync"] != true || c.Interval != "7s" {
		t.Errorf("configuration %+v", c)
	}
}

func TestLaunchRefuses(t *testing.T) {
	for name, change := range map[string]func(*store.LaunchSpec){
		"no members":      func(s *store.LaunchSpec) { s.Members = nil },
		"two ports":       func(s *store.LaunchSpec) { s.Members[0].Ports = []int{1, 2} },
		"relative folder": func(s *store.LaunchSpec) { s.Members[1].Dir = "m2" },
		"other settings":  func(s *store.LaunchSpec) { s.Settings = "x" },
		"log level":       func(s *store.LaunchSpec) { s.Settings = &Settings{LogLevel: "x"} },
		"log store":       func(s *store.LaunchSpec) { s.Settings = &Settings{RaftLogstore: "x"} },
		"multiplier":      func(s *store.LaunchSpec) { s.Settings = &Settings{RaftMultiplier: 11} },
		"negative":        func(s *store.LaunchSpec) { s.Settings = &Settings{RaftTrailingLogs: -1} },
		"free list":       func(s *store.LaunchSpec) { s.Settings = &Settings{NoFreelistSync: true} },
		"segments":        func(s *store.LaunchSpec) { s.Settings = &Settings{RaftLogstore: "boltdb", WALSegmentSizeMB: 1} },
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
	if _, err := New().Server("0.1"); err == nil {
		t.Error("an unknown version is taken")
	}
}
