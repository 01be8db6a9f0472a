//go:build linux

package e2e_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/servers"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// withoutVote starts three voting members and then a fourth member without a vote: an etcd learner,
// a ZooKeeper observer, or a Consul server that gets no vote because it is never considered
// healthy. withoutVote returns the endpoints of all four members.
func withoutVote(t *testing.T, st store.Store, exec string) []string {
	t.Helper()
	places := servers.ReservePlaces(t, 4)
	spec := store.LaunchSpec{Cluster: "four", Exec: exec, Self: os.Getenv(binaryEnv), Members: places}
	if st.Name() != "zookeeper" { // in ZooKeeper, the voters' configuration already includes the observer
		spec.Members = places[:3]
	}
	launch := func() []store.Process {
		var err error
		if spec.Settings, err = st.DecodeSettings(nil); err != nil {
			t.Fatal(err)
		}
		l, err := st.Launch(spec)
		if err != nil {
			t.Fatal(err)
		}
		return l.Processes
	}
	voters := launch()[:3]
	var endpoints []string
	for i := range voters {
		inConfig(t, &voters[i], i)
		servers.Process(t, voters[i])
		endpoints = append(endpoints, voters[i].Endpoint)
	}
	admin, err := st.Admin(store.Access{Endpoints: endpoints})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = admin.Close() })
	awaitRole(t, admin, kv.Leader, 3)
	if enlarger, ok := admin.(store.Operator); ok {
		if err := enlarger.AddLearner(t.Context(), places[3]); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			t.Fatal(err)
		}
	}
	spec.Members, spec.JoiningMember = places, places[3].Name
	last := launch()[3]
	inConfig(t, &last, 3)
	servers.Process(t, last)
	alone, err := st.Admin(store.Access{Endpoints: []string{last.Endpoint}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = alone.Close() })
	awaitRole(t, alone, kv.NonVoter, 1)
	return append(endpoints, last.Endpoint)
}

// inConfig changes the configuration of member i in a cluster of four, so that member 3 has no vote
// and the other members have one.
func inConfig(t *testing.T, p *store.Process, i int) {
	t.Helper()
	for path, contents := range p.Files {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		text := string(contents)
		switch filepath.Base(path) {
		case "zoo.cfg":
			at := strings.Index(text, "server.4=")
			text = text[:at] + strings.Replace(text[at:], ":participant", ":observer", 1)
			if i == 3 {
				text += "peerType=observer\n"
			}
		case "consul.json":
			text = strings.Replace(text, "{", `{"autopilot": {"last_contact_threshold": "1ns"},`, 1)
			if i == 3 {
				text = strings.Replace(text, `"bootstrap_expect": 4,`, "", 1)
			}
		}
		p.Files[path] = []byte(text)
	}
}

// awaitRole waits until at least n members respond and at least one member has the given role.
func awaitRole(t *testing.T, a store.Admin, role kv.Role, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	storetest.Poll(ctx, t, func() error {
		s, err := a.Status(ctx)
		if err != nil {
			return err
		}
		known := 0
		for i := range s.Members {
			if s.Members[i].Role != kv.UnknownRole {
				known++
			}
		}
		if known < n || !slices.ContainsFunc(s.Members, func(m store.Member) bool { return m.Role == role }) {
			return os.ErrNotExist
		}
		return nil
	})
}

// A non-voter does not count as a follower: it receives only local reads, unless the target selects
// it by its number. Every report lists it as a non-voter.
func TestNonVoters(t *testing.T) {
	t.Parallel()
	suits := func(st store.Store) bool {
		return st.Capabilities().NonVoters.Name != "" && slices.Contains([]string{"etcd", "etcd-gateway", "zookeeper", "consul"}, st.Name())
	}
	eachStore(t, suits, func(t *testing.T, st store.Store, exec string) {
		w := newWorld(t)
		all := withoutVote(t, st, exec)
		last, can := all[3], st.Capabilities().NonVoters
		given := strings.Join(all, ",")
		n := 0
		bench := func(code int, args ...string) (*startedProgram, *record.Trial) {
			t.Helper()
			n++
			out := w.path("run" + string(rune('a'+n)))
			args = append(append([]string{"bench"}, args...), "--store", st.Name(), "--endpoints", given, "--conns", "8", "--clients", "8", "--total", "90", "--key-space-size", "30", "--out", out)
			p := w.run(t, args...).exits(t, code)
			if code != exitDone {
				return p, nil
			}
			r, err := record.Open(out)
			if err != nil {
				t.Fatal(err)
			}
			if text := p.stdout.String(); !strings.Contains(text, last+") has no vote ("+can.Name+")") {
				t.Errorf("the report does not name the member without a vote:\n%s", text)
			}
			if !slices.ContainsFunc(r.Trials[0].Notes, func(note string) bool { return strings.Contains(note, "has no vote") }) {
				t.Errorf("the record's notes are %q", r.Trials[0].Notes)
			}
			return p, &r.Trials[0]
		}
		for _, target := range []string{"any", "all", "followers", "leader"} {
			loads := [][]string{{"put"}}
			if target == "all" {
				loads = append(loads, []string{"get", "--consistency", "linearizable"})
			}
			for _, load := range loads {
				_, one := bench(exitDone, append(load, "--target", target)...)
				if one.Errors > 0 || servedBy(one, last) > 0 || one.Members != 4 {
					t.Errorf("%v with target %s: %d errors, %d operations at the member without a vote, %d members", load, target, one.Errors, servedBy(one, last), one.Members)
				}
			}
		}
		for _, target := range []string{"all", "member:4"} {
			_, one := bench(exitDone, "get", "--consistency", "local", "--target", target)
			if one.Errors > 0 || servedBy(one, last) == 0 || !slices.ContainsFunc(one.ByRole, func(s record.Served) bool { return s.Role == "non-voter" && s.Operations > 0 }) {
				t.Errorf("local reads with target %s: %d errors, %d operations at the member without a vote, by role %+v", target, one.Errors, servedBy(one, last), one.ByRole)
			}
		}
		if can.ForwardsRequests {
			if _, one := bench(exitDone, "put", "--target", "member:4"); one.Errors > 0 || servedBy(one, last) != 90 {
				t.Errorf("writes with the member without a vote as target: %d errors, %d operations at this member", one.Errors, servedBy(one, last))
			}
		} else {
			p, _ := bench(exitFailed, "put", "--target", "member:4")
			p.oneSentence(t, "has no vote ("+can.Name+")")
		}
		check := w.run(t, "check", "perf", "--store", st.Name(), "--endpoints", last+","+strings.Join(all[:3], ","), "--rate", "50", "--clients", "5", "--duration", "1s").end(t)
		if text := check.stdout.String(); !strings.Contains(text, "has no vote") || strings.Contains(text, "ERROR") {
			t.Errorf("the output of the check is\n%s", text)
		}
	})
}

// servedBy returns how many of the operations sent to an endpoint completed or failed.
func servedBy(one *record.Trial, endpoint string) uint64 {
	for i := range one.ByMember {
		if m := &one.ByMember[i]; m.Endpoint == endpoint {
			return m.Operations + m.Errors
		}
	}
	return 0
}
