package etcd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/version"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/servers"
)

// runAlone runs a member in this process until the test ends, and returns its
// client endpoint.
func runAlone(t *testing.T) string {
	t.Helper()
	places := servers.ReservePlaces(t, 1)
	places[0].Name = "alone"
	l, err := New().Launch(store.LaunchSpec{Cluster: "test", Self: "unused", Members: places})
	if err != nil {
		t.Fatal(err)
	}
	servers.InProcess(t, New(), l.Processes[0])
	return l.Processes[0].Endpoint
}

// freePorts reserves n ports on one address until the test ends.
func freePorts(t testing.TB, n int) (address string, ports []int) {
	t.Helper()
	lease, err := host.NewLocal(nil, nil).Ports(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lease.Release)
	return lease.Address, lease.Ports
}

func adminOf(t *testing.T, a store.Access) store.Admin {
	t.Helper()
	if a.DialTimeout == 0 {
		a.DialTimeout = patience
	}
	admin, err := New().Admin(a)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = admin.Close() })
	return admin
}

// awaitLeader waits until a member is leader, and returns the cluster's status.
func awaitLeader(t *testing.T, admin store.Admin) store.Status {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		s, err := admin.Status(ctx)
		if err == nil && s.Leader() != nil {
			return s
		}
		select {
		case <-ctx.Done():
			t.Fatalf("no leader: %+v, %v", s, err)
		case <-ticker.C:
		}
	}
}

func TestAdminOfRealMember(t *testing.T) {
	endpoint := runAlone(t)
	admin := adminOf(t, store.Access{Endpoints: []string{endpoint}})
	s := awaitLeader(t, admin)
	m := s.Members[0]
	if m.Role != kv.Leader || m.Name != "alone" || m.ID == 0 || m.Term == 0 || m.Term != s.Term || m.DBSize <= 0 || len(m.Alarms) != 0 {
		t.Errorf("member %+v", m)
	}
	if s.Version != version.Version || m.Version != s.Version { // the member must run the version that is linked into this program
		t.Errorf("version %q", s.Version)
	}
	if r := admin.Role(t.Context(), 0); r.Err != nil || r.ID != m.ID || r.Role != kv.Leader || r.Leader != m.ID || r.Term != m.Term {
		t.Errorf("Role returned %+v", r)
	}
	list, err := admin.Members(t.Context())
	if err != nil || len(list) != 1 || list[0].Endpoint != endpoint || list[0].ID != m.ID {
		t.Errorf("members %v, %v", list, err)
	}

	t.Run("maintenance", func(t *testing.T) { maintainAlone(t, admin) })
	t.Run("with a dead endpoint", func(t *testing.T) {
		address, ports := freePorts(t, 1)
		dead := net.JoinHostPort(address, fmt.Sprint(ports[0]))
		s, err := adminOf(t, store.Access{Endpoints: []string{dead, endpoint}}).Status(t.Context())
		if err != nil || s.Leader() == nil || s.Leader().Endpoint != endpoint {
			t.Fatalf("status %+v, %v", s, err)
		}
		if e := s.Members[0].Err; e == nil || !strings.Contains(e.Error(), dead+" did not respond like etcd: ") || !strings.HasSuffix(e.Error(), "connection refused") || !s.Members[0].ProcessEnded {
			t.Errorf("the error of the dead endpoint is %v", e)
		}
	})
	t.Run("metrics on the client port", func(t *testing.T) {
		r, err := http.Get("http://" + endpoint + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Body.Close() }()
		if r.StatusCode != http.StatusOK {
			t.Errorf("status %s", r.Status)
		}
	})
	t.Run("closed", func(t *testing.T) {
		if err := admin.Close(); err != nil {
			t.Error(err)
		}
		if _, err := admin.Status(t.Context()); err == nil {
			t.Error("Status succeeded on a closed connection")
		}
	})
}

func maintainAlone(t *testing.T, a store.Admin) {
	c, err := a.(*admin).ensureClient(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		if _, err := c.Put(t.Context(), fmt.Sprintf("bench/%d", i), "v"); err != nil {
			t.Fatal(err)
		}
	}
	m, mover, deleter := a.(store.Operator), a.(store.Operator), a.(store.Cleaner)
	if n, err := deleter.DeletePrefix(t.Context(), []byte("bench/")); err != nil || n != 10 {
		t.Errorf("deleted %d, %v", n, err)
	}
	if _, err := deleter.DeletePrefix(t.Context(), nil); err == nil {
		t.Error("DeletePrefix accepted an empty prefix")
	}
	before, err := a.(store.Operator).Hash(t.Context())
	if err != nil || len(before) != 1 || before[0].Hash == 0 || before[0].Revision < 12 || before[0].Endpoint == "" {
		t.Errorf("the members' hashes are %+v, %v", before, err)
	}
	if _, err := a.(*admin).requestHash(t.Context(), c, before[0].Endpoint, before[0].Revision+1); !errors.Is(err, store.ErrNotCaughtUp) {
		t.Errorf("hashing at a revision that does not exist yet returned: %v", err)
	}
	if revision, err := m.TrimHistory(t.Context(), 1000); err != nil || revision != 0 {
		t.Errorf("TrimHistory without enough old revisions compacted to revision %d, %v", revision, err)
	}
	if revision, err := m.TrimHistory(t.Context(), 5); err != nil || revision != before[0].Revision-5 {
		t.Errorf("TrimHistory compacted to revision %d, %v; the current revision is %d", revision, err, before[0].Revision)
	}
	if again, err := m.TrimHistory(t.Context(), 5); err != nil || again != before[0].Revision-5 {
		t.Errorf("the second TrimHistory compacted to revision %d, %v", again, err)
	}
	if after, err := a.(store.Operator).Hash(t.Context()); err != nil || after[0].Compacted != before[0].Revision-5 || after[0].Revision != before[0].Revision {
		t.Errorf("the members' hashes are %+v, %v", after, err)
	}
	if revision, err := m.Compact(t.Context()); err != nil || revision < 12 {
		t.Errorf("Compact compacted to revision %d, %v", revision, err)
	}
	if err := m.Defragment(t.Context()); err != nil {
		t.Error(err)
	}
	s, err := a.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := mover.MoveLeader(t.Context(), s.Leader().ID); err != nil {
		t.Errorf("moving leadership to the current leader returned: %v", err)
	}
	if err := mover.MoveLeader(t.Context(), 42); err == nil || strings.Contains(err.Error(), "rpc error") {
		t.Errorf("moving leadership to an unknown member returned: %v", err)
	}
}

func TestSilentEndpointIsReportedWithinTheDialTimeout(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections and sends nothing
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	admin := adminOf(t, store.Access{Endpoints: []string{l.Addr().String()}, DialTimeout: 50 * time.Millisecond})
	for what, ask := range map[string]func() error{
		"status":  func() error { _, err := admin.Status(t.Context()); return err },
		"members": func() error { _, err := admin.Members(t.Context()); return err },
	} {
		if err := ask(); err == nil || !strings.Contains(err.Error(), "no response within the time limit") {
			t.Errorf("%s: %v", what, err)
		}
	}
	user := adminOf(t, store.Access{Endpoints: []string{l.Addr().String()}, DialTimeout: 50 * time.Millisecond, User: "u", Password: "p"})
	if _, err := user.Status(t.Context()); err == nil || !strings.Contains(err.Error(), "cannot log in") {
		t.Errorf("a login at a server that does not respond returned: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := admin.Status(ctx); err == nil || !strings.Contains(err.Error(), "cancelled") {
		t.Errorf("Status with a cancelled context returned: %v", err)
	}
}

func TestAdminNeedsAnEndpoint(t *testing.T) {
	if _, err := New().Admin(store.Access{}); err == nil {
		t.Error("Admin accepted an access without endpoints")
	}
}

func TestAlarms(t *testing.T) {
	got := alarms([]string{"etcdserver: no leader", "memberID:10276657743932975437 alarm:NOSPACE", "memberID:1  alarm:CORRUPT"})
	if strings.Join(got, ",") != "NOSPACE,CORRUPT" {
		t.Errorf("alarms %v", got)
	}
}

// TestQuotaRemaining checks that free pages in the database file count as space only until the file
// has nearly reached the quota.
func TestQuotaRemaining(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct{ size, inUse, quota, want int64 }{
		{size: 50 * mib, inUse: 10 * mib, quota: 0, want: 0},
		{size: 50 * mib, inUse: 10 * mib, quota: 100 * mib, want: 90 * mib},
		{size: 99 * mib, inUse: 10 * mib, quota: 100 * mib, want: mib},
		{size: 101 * mib, inUse: 10 * mib, quota: 100 * mib, want: 1},
	} {
		got := quotaRemaining(&etcdserverpb.StatusResponse{DbSize: c.size, DbSizeInUse: c.inUse, DbSizeQuota: c.quota})
		if got != c.want {
			t.Errorf("%d of %d bytes are in use, the quota is %d: quotaRemaining returned %d, want %d", c.inUse, c.size, c.quota, got, c.want)
		}
	}
}

func TestMemberWithABadConfiguration(t *testing.T) {
	file := filepath.Join(t.TempDir(), "etcd.json")
	for contents, want := range map[string]string{
		"":                             "cannot use the etcd configuration",
		"[1, 2":                        "cannot use the etcd configuration",
		`{"election-timeout": 999999}`: "election-timeout",
	} {
		if contents != "" {
			if err := os.WriteFile(file, []byte(contents), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := New().RunMember(t.Context(), file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", contents, err)
		}
	}
}

func TestWatchParent(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	ctx, cancel := context.WithCancelCause(t.Context())
	go waitForParent(r, cancel)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	if !errors.Is(context.Cause(ctx), errParentGone) {
		t.Errorf("cause %v", context.Cause(ctx))
	}
}
