package cluster

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/probe"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// recorder is a machine that records the commands that are started, the signals that are sent, and
// the number of claims.
type recorder struct {
	*host.Local
	started []host.Command
	signals map[string][]host.Signal // by file name of the process's log
	claims  int
}

func (r *recorder) Start(ctx context.Context, c host.Command) (host.Process, error) {
	p, err := r.Local.Start(ctx, c)
	r.started = append(r.started, c)
	return &recorded{p, r, filepath.Base(c.LogFile)}, err
}

func (r *recorder) Claim(ctx context.Context, parent string) (host.Claim, error) {
	r.claims++
	return r.Local.Claim(ctx, parent)
}

type recorded struct {
	host.Process
	recorder *recorder
	log      string
}

func (p *recorded) Signal(ctx context.Context, s host.Signal) error {
	p.recorder.signals[p.log] = append(p.recorder.signals[p.log], s)
	return p.Process.Signal(ctx, s)
}

func twoMachines(t *testing.T) (a, b *recorder) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("other systems have one loopback address")
	}
	of := func(address string) *recorder {
		return &recorder{Local: host.NewLocal(nil, nil).WithAddress(address), signals: map[string][]host.Signal{}}
	}
	return of("127.0.0.21"), of("127.0.0.22")
}

// onMachines starts three members on two machines, with one member on the second machine.
func onMachines(t *testing.T, a, b *recorder, spec Spec) *Cluster {
	t.Helper()
	spec.Members, spec.Hosts = 3, []host.Host{a, b}
	return start(t, spec)
}

func addressOf(t *testing.T, endpoint string) string {
	t.Helper()
	address, _, err := net.SplitHostPort(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// Each member's address, ports, folder, processes and log are on the member's host.
func TestMembersArePlacedOnHostsInTurn(t *testing.T) {
	a, b := twoMachines(t)
	c := onMachines(t, a, b, Spec{})
	dirs := c.Dirs()
	if len(dirs) != 2 || dirs[0] == dirs[1] || a.claims != 1 || b.claims != 1 {
		t.Fatalf("the data is in %q", dirs)
	}
	marks := map[string]bool{}
	for i, m := range c.Members() {
		want := []*recorder{a, b, a}[i]
		if m.Host != host.Host(want) || addressOf(t, m.Endpoint) != []string{"127.0.0.21", "127.0.0.22", "127.0.0.21"}[i] {
			t.Errorf("member %s has the endpoint %s", m.Name, m.Endpoint)
		}
		if !strings.HasPrefix(m.DataDir, dirs[i%2]+"/") {
			t.Errorf("the data of %s is in %s", m.Name, m.DataDir)
		}
		at := slices.IndexFunc(want.started, func(c host.Command) bool { return c.LogFile == m.LogFile })
		if at < 0 {
			t.Fatalf("%s was not started on its host", m.Name)
		}
		for _, variable := range want.started[at].Env {
			if strings.HasPrefix(variable, host.MarkEnv) {
				marks[variable] = true
			}
		}
		if s, err := m.Host.Sample(t.Context(), []int{m.PID}, false); err != nil || !s.Processes[0].OK {
			t.Errorf("the host of %s has no sample of it: %+v, %v", m.Name, s, err)
		}
	}
	if len(a.started) != 2 || len(b.started) != 1 || len(marks) != 2 {
		t.Errorf("the hosts started %d and %d members, with the marks %v", len(a.started), len(b.started), marks)
	}
	if f, err := c.Fsync(t.Context(), 3); err != nil || len(f) != 2 || f[0].Count != 3 {
		t.Errorf("fdatasync on two machines: %+v, %v", f, err)
	}
}

// A member is suspended, killed and stopped on its own host, without effect on other processes.
func TestMembersAreSignalledOnTheirHosts(t *testing.T) {
	a, b := twoMachines(t)
	c := onMachines(t, a, b, Spec{})
	status, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []host.Signal{host.Pause, host.Resume, host.Kill} {
		if err := c.Signal(t.Context(), "m2", s); err != nil {
			t.Fatal(err)
		}
	}
	if e := awaitEnd(t, c, 1)[0].Exit(); e.Signal != "killed" {
		t.Errorf("the member's exit is %+v, want an end by SIGKILL", e)
	}
	if len(a.signals) != 0 || !slices.Equal(b.signals["m2.log"], []host.Signal{host.Pause, host.Resume, host.Kill}) {
		t.Errorf("the signals on the two hosts were %v and %v", a.signals, b.signals)
	}
	if c.AllRunning() {
		t.Error("AllRunning is true although a member was killed")
	}
	settle.Eventually(t, "the members on the other host have a leader", func() bool {
		s, err := c.Status(t.Context())
		return err == nil && s.Leader() != nil && s.Members[1].Err != nil && s.Term >= status.Term
	})
	if err := c.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"m1.log", "m3.log"} {
		if len(a.signals[name]) == 0 || a.signals[name][0] != host.Terminate {
			t.Errorf("the signals to the member with the log %s were %v", name, a.signals[name])
		}
	}
	for _, dir := range c.Dirs() {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the folder %s was not removed: %v", dir, err)
		}
	}
	for _, m := range c.Members() {
		if _, err := os.Stat(m.LogFile); err != nil {
			t.Error(err)
		}
	}
}

func TestKilledClusterLeavesNoDataOnAnyHost(t *testing.T) {
	a, b := twoMachines(t)
	c := onMachines(t, a, b, Spec{})
	processes := identities(t, c)
	if err := c.stop(context.Background(), 0); err != nil {
		t.Fatal(err)
	}
	for _, dir := range c.Dirs() {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the folder %s was not removed: %v", dir, err)
		}
	}
	for _, id := range processes {
		if id.Running() {
			t.Errorf("process %d is still running", id.PID)
		}
	}
}

// If a start fails on one host, nothing remains on the other.
func TestStartThatFailsOnOneHost(t *testing.T) {
	a, _ := twoMachines(t)
	dir := t.TempDir()
	spec := Spec{Members: 3, Dir: dir, Hosts: []host.Host{a, host.NewLocal(nil, nil).WithAddress("192.0.2.1")}}
	if err := spec.complete(); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), noStore{}, spec); err == nil || !strings.Contains(err.Error(), "192.0.2.1") {
		t.Errorf("%v", err)
	}
	if left := claims(t, dir); len(left) > 0 || len(a.started) > 0 {
		t.Errorf("the failed start left %v and started %v", left, a.started)
	}
}

// noStore is a store that must not be called.
type noStore struct{ store.Store }

// If the owner of a cluster on two hosts is killed, an orphaned folder remains on each host.
func TestOrphansOfAClusterOnTwoHosts(t *testing.T) {
	root := t.TempDir()
	member, dirs := killedOwner(t, filepath.Join(root, "data"), "two")
	if len(dirs) != 2 {
		t.Fatalf("the data was in %q", dirs)
	}
	settle.Eventually(t, "the members are gone", func() bool { return !member.Running() })
	removed, err := host.CleanOrphans(root, host.OrphanDepth)
	slices.Sort(dirs)
	if err != nil || !slices.EqualFunc(removed, dirs, func(o host.Orphan, dir string) bool { return o.Path == dir }) {
		t.Errorf("CleanOrphans removed %q, want %q: %v", removed, dirs, err)
	}
}

// timed is a host that records the folders in which fdatasync is measured.
type timed struct {
	*host.Local
	asked [][]string
}

func (h *timed) Fsync(_ context.Context, dirs []string, _ int) ([]probe.FsyncResult, error) {
	h.asked = append(h.asked, dirs)
	return make([]probe.FsyncResult, 1), nil
}

// Each host is asked once to measure fdatasync, even if each of its members has its own network.
func TestFsyncAsksEachHostOnce(t *testing.T) {
	a, b := &timed{}, &timed{}
	c := &Cluster{}
	for i, h := range []*timed{a, b, a} {
		p := &place{host: h}
		c.places, c.members = append(c.places, p), append(c.members, &member{place: p, details: Member{DataDir: memberName(i)}})
	}
	all, err := c.Fsync(t.Context(), 1)
	if err != nil || len(all) != 2 || len(a.asked) != 1 || !slices.Equal(a.asked[0], []string{"m1", "m3"}) || len(b.asked) != 1 {
		t.Errorf("the hosts were asked about the folders %q and %q, and there are %d results: %v", a.asked, b.asked, len(all), err)
	}
}
