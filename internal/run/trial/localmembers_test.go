package trial

import (
	"net"
	"runtime"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// Rule R23 needs the process IDs of the members of a running cluster, or a note with the reason why
// the IDs are unknown.
func TestFindsMembersOnTheGeneratorsMachine(t *testing.T) {
	endpoints := []string{"127.0.0.1:2379", "localhost:2379", "192.0.2.1:2379"}
	here := probe.Server{IsLocal: true, PID: 41, Program: "etcd"}
	for _, tt := range []struct {
		what   string
		found  []probe.Server
		shared bool
		pids   int
		note   string
	}{
		{"elsewhere", make([]probe.Server, 3), false, 0, ""},
		{"one process by two names", []probe.Server{here, here, {}}, true, 1, ""},
		{"one that the system does not show", []probe.Server{here, {IsLocal: true}, {}}, true, 0, "localhost:2379 belongs to this machine, but the system does not show"},
		{"behind a container's port", []probe.Server{{IsLocal: true, PID: 7, Program: "docker-proxy"}, {}, {}}, true, 0, "127.0.0.1:2379 (docker-proxy) belongs to this machine, but the program that listens there only forwards"},
		{"two that the system does not show", []probe.Server{{IsLocal: true}, {IsLocal: true}, {}}, true, 0, "The addresses 127.0.0.1:2379, localhost:2379 each belong to this machine"},
	} {
		var c Cluster
		c.recordLocalMembers(endpoints, tt.found)
		if shared := c.Shared != nil && *c.Shared; shared != tt.shared || len(c.localProcesses()) != tt.pids {
			t.Errorf("%s: %+v", tt.what, c)
		}
		if note := strings.Join(c.unfoundNotes(), " "); !strings.Contains(note, tt.note) || tt.note == "" && note != "" {
			t.Errorf("%s: the note is %q", tt.what, note)
		}
	}
}

// The processor time of members that were found is not counted as that of other programs. These
// members have no rows.
func TestSamplesMembersOnTheGeneratorsMachine(t *testing.T) {
	h := newScripted("here")
	h.processes[41] = probe.ProcessUsage{}
	s, err := newSampler(t.Context(), h, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.addLocalMembers(map[string]int{"member with process 41": 41})
	for range 3 {
		for _, row := range s.rows(t.Context()) {
			if strings.Contains(row.Name, "member") {
				t.Errorf("the local member has a row: %+v", row)
			}
		}
	}
	if len(s.local.samples["member with process 41"]) != 3 || len(s.store.samples) > 0 {
		t.Errorf("the samples of the local members are %+v", s.local.samples)
	}
}

// If another machine generates the load, a member on this machine does not share the generator's
// machine. If this machine also generates load, the other generator's machine is still unknown.
func TestFindsNoMembersForARemoteGenerator(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	here, there := newScripted("here"), serving("there")
	for _, test := range []struct {
		what    string
		sources []Source
		found   bool
	}{
		{"no host with its own clock", nil, true},
		{"a remote generator", []Source{{Name: "gen", Host: there, Load: true}}, false},
		{"a local and a remote generator", []Source{{Name: "here", Host: here, Load: true}, {Name: "gen", Host: there, Load: true}}, false},
		{"a local generator", []Source{{Name: "here", Host: here, Load: true}, {Name: "other", Host: there}}, true},
	} {
		of := &Trial{Host: here, Sources: test.sources}
		of.findLocalMembers(t.Context(), &members{admin: plain{}, givenEndpoints: []string{l.Addr().String()}})
		if runtime.GOOS != "linux" {
			continue // other systems do not show who listens
		}
		if shared := of.Cluster.Shared != nil; shared != test.found || len(of.Cluster.LocalPIDs) > 0 != test.found {
			t.Errorf("%s: the members on this machine are %v (shared: %v), want some: %v", test.what, of.Cluster.LocalPIDs, shared, test.found)
		}
	}
}
