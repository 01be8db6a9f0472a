//go:build linux

package e2e_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// On a follower that is cut off from its peers, a local read returns the earlier value, but a
// linearizable read never returns this value. These behaviors were observed: etcd's two APIs
// respond "request timed out" after 7 s. A ZooKeeper follower serves local reads until it notices
// that its leader is missing (syncLimit ticks); then it closes every connection, including one with
// a pending sync. zetcd does not respond or closes the connection. While the follower is cut off,
// ZooKeeper and zetcd start no session, because that requires a write, so quorumbench cannot read
// anything there.
func TestCutOffFollower(t *testing.T) {
	t.Parallel()
	bothLevels := func(st store.Store) bool {
		reads := st.Capabilities().Reads
		return reads[kv.Local] != "" && reads[kv.Linearizable] != ""
	}
	eachStore(t, bothLevels, func(t *testing.T, st store.Store, exec string) {
		if inNetwork(t) {
			cutOff(t, st, exec)
		}
	})
}

// unanswered is the time for which the test waits for a linearizable read. It is longer than any of
// these servers takes to respond.
const unanswered = 11 * time.Second

// cutSettings contains settings with which a follower that is cut off continues to serve for longer
// than the slowest machine needs to query it.
var cutSettings = map[string]string{"zookeeper": `{"sync-limit": 60}`}

// The old and the new value differ in size, and `bench get` reports the size.
const (
	oldSize = 100
	newSize = 200
)

var cutKey = []byte("cut/00000000")

func cutOff(t *testing.T, st store.Store, exec string) {
	w := newWorld(t)
	c := w.spread(t, st, exec)
	leader, follower := c.leads(t)
	majority, alone := c.access.Endpoints[leader], c.access.Endpoints[follower]
	// Starting a session may require a write, so these sessions start before the follower is
	// cut off.
	local, linear := session(t, st, c.access, alone), session(t, st, c.access, alone)
	read := func(level kv.Consistency) store.Op { return store.Op{Kind: kv.Get, Key: cutKey, Consistency: level} }

	w.writeKey(t, st, majority, oldSize)
	old := linear.Want(kv.OK, read(kv.Linearizable)).Value
	if len(old) != oldSize {
		t.Fatalf("before the member was cut off, a linearizable read returned %q", old)
	}
	eventually(t, patience, "the follower had applied the old value", func() bool {
		e, err := local.Try(read(kv.Local))
		return err == nil && string(e.Value) == string(old)
	})
	c.hub.cut(t, follower)
	w.writeKey(t, st, majority, newSize)
	if e := session(t, st, c.access, majority).Want(kv.OK, read(kv.Linearizable)); len(e.Value) != newSize {
		t.Fatalf("a read from the majority returned %q", e.Value)
	}

	if e := local.Want(kv.OK, read(kv.Local)); string(e.Value) != string(old) {
		t.Errorf("at the cut-off member, a local read returned %q, want the old value %q", e.Value, old)
	}
	began := time.Now()
	linear.SetTimeLimit(unanswered)
	e, err := linear.Try(read(kv.Linearizable))
	t.Logf("at the cut-off member, a linearizable read ended after %v with %v %q, %v", time.Since(began).Round(time.Millisecond), e.Outcome, e.Text, err)
	if !e.Outcome.Failed() || len(e.Value) > 0 {
		t.Errorf("at the cut-off member, a linearizable read ended with %v and the value %q", e.Outcome, e.Value)
	}
	_, sessions := st.Codecs(c.access)(store.ConnectionInfo{Endpoint: alone}).(store.SessionCodec)
	w.askAlone(t, st, alone, sessions)
}

// session returns a connection to one member, and waits until the connection is ready.
func session(t *testing.T, st store.Store, a store.Access, endpoint string) *storetest.Wire {
	t.Helper()
	a.Endpoints = []string{endpoint}
	w := storetest.Dial(t, st, a)
	w.Ready()
	return w
}

// writeKey writes one key twenty times, with values of the given size.
func (w *world) writeKey(t *testing.T, st store.Store, endpoint string, size int) {
	t.Helper()
	w.run(t, "bench", "put", "--store", st.Name(), "--endpoints", endpoint, "--key-space-size", "1", "--prefix", "cut/",
		"--val-size", strconv.Itoa(size), "--total", "20", "--cleanup=false").exits(t, exitDone)
}

// askAlone runs quorumbench against a member that is cut off. Local reads must return the old
// value, and linearizable reads must fail. If the store's clients need a session (sessions is
// true), all reads must fail.
func (w *world) askAlone(t *testing.T, st store.Store, endpoint string, sessions bool) {
	t.Helper()
	for _, level := range []string{"local", "linearizable"} {
		patient := "2s"
		if level == "local" && !sessions { // the member responds
			patient = patience.String()
		}
		p := w.run(t, "bench", "get", "--store", st.Name(), "--endpoints", endpoint, "--key-space-size", "1", "--prefix", "cut/",
			"--val-size", strconv.Itoa(oldSize), "--no-preload", "--total", "4", "--clients", "4", "--timeout", patient, "--dial-timeout", patient,
			"--consistency", level, "--format", "json")
		switch {
		case sessions: // without a quorum no session starts, whatever the consistency
			p.exits(t, exitFailed).oneSentence(t, endpoint)
		case level == "local":
			if trial := result(t, p.exits(t, exitDone)); trial.Operations != 4 || trial.Errors+trial.WrongResponses > 0 {
				t.Errorf("4 local reads: %d returned the old value, %d returned another value; errors %v", trial.Operations, trial.WrongResponses, trial.ErrorsByKind)
			}
		default:
			if trial := result(t, p.exits(t, exitFailed)); trial.Errors != 4 || trial.Operations+trial.WrongResponses > 0 {
				t.Errorf("4 linearizable reads: %d returned the old value, %d returned another value; errors %v", trial.Operations, trial.WrongResponses, trial.ErrorsByKind)
			}
		}
	}
}

// spread is a cluster in which each member has its own network.
type spread struct {
	hub    *hub
	access store.Access
	admin  store.Admin
}

// spread starts a cluster of three members and waits until it is ready.
func (w *world) spread(t *testing.T, st store.Store, exec string) *spread {
	t.Helper()
	const members = 3
	c := &spread{hub: newHub(t, members), access: store.Access{DialTimeout: 2 * time.Second, Backends: map[string]string{}}}
	spec := store.LaunchSpec{Cluster: "spread", Exec: exec, Self: os.Getenv(binaryEnv)}
	for i := range members {
		name := string(rune('a' + i))
		spec.Members = append(spec.Members, kv.MemberPlace{
			Name: name, Host: c.hub.host(i), Ports: []int{4001, 4002, 4003, 4004}, Dir: w.path(name),
		})
	}
	var err error
	var decode func(any) error
	if set := cutSettings[st.Name()]; set != "" {
		decode = func(into any) error { return json.Unmarshal([]byte(set), into) }
	}
	if spec.Settings, err = st.DecodeSettings(decode); err != nil {
		t.Fatal(err)
	}
	launch, err := st.Launch(spec)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range launch.Processes {
		for _, b := range p.Backends {
			c.start(t, i, b)
			c.access.Backends[p.Endpoint] = b.Endpoint
		}
		c.start(t, i, p)
		c.access.Endpoints = append(c.access.Endpoints, p.Endpoint)
	}
	if c.admin, err = st.Admin(c.access); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.admin.Close() })
	return c
}

// start starts a process in a member's network.
func (c *spread) start(t *testing.T, member int, p store.Process) {
	t.Helper()
	here := host.NewLocal(nil, nil)
	for path, contents := range p.Files {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, contents, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(p.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	process, err := here.Start(t.Context(), host.Command{
		Path: "nsenter", Args: c.hub.commandIn(member, append([]string{p.Path}, p.Args...)...),
		Env: p.Env, Dir: p.Dir, LogFile: p.LogFile, Lifeline: store.ParentEnv + "=" + store.ParentStdin,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = process.Signal(context.Background(), host.Kill)
		<-process.Exited()
		if t.Failed() {
			t.Logf("the log of %s ends with:\n%s", p.Name, strings.Join(process.Exit().Tail, "\n"))
		}
	})
}

// leads waits until every member responds and knows the leader. It returns the leader and one
// follower.
func (c *spread) leads(t *testing.T) (leader, follower int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	var status store.Status
	var err error
	eventually(t, 2*patience, "the cluster was ready", func() bool {
		status, err = c.admin.Status(ctx)
		leader, follower = -1, -1
		for i, m := range status.Members {
			switch {
			case m.Err != nil || m.Role == kv.UnknownRole || m.Term != status.Term:
				return false
			case m.Role == kv.Leader:
				leader = i
			default:
				follower = i
			}
		}
		return err == nil && leader >= 0 && follower >= 0
	})
	return leader, follower
}
