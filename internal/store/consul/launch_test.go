package consul

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

func twoMembers(dir string) store.LaunchSpec {
	s := storetest.TwoMemberSpec(dir)
	s.Exec = "/opt/consul"
	return s
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
	storetest.CheckLaunchRefuses(t, New(), twoMembers, map[string]func(*store.LaunchSpec){
		"two ports":  func(s *store.LaunchSpec) { s.Members[0].Ports = []int{1, 2} },
		"log level":  func(s *store.LaunchSpec) { s.Settings = &Settings{LogLevel: "x"} },
		"log store":  func(s *store.LaunchSpec) { s.Settings = &Settings{RaftLogstore: "x"} },
		"multiplier": func(s *store.LaunchSpec) { s.Settings = &Settings{RaftMultiplier: 11} },
		"negative":   func(s *store.LaunchSpec) { s.Settings = &Settings{RaftTrailingLogs: -1} },
		"free list":  func(s *store.LaunchSpec) { s.Settings = &Settings{NoFreelistSync: true} },
		"segments":   func(s *store.LaunchSpec) { s.Settings = &Settings{RaftLogstore: "boltdb", WALSegmentSizeMB: 1} },
	})
}

func TestServerSource(t *testing.T) { storetest.ServerVersions(t, New(), "0.1") }
