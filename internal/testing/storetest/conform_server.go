package storetest

import (
	"bytes"
	"context"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/certs"
)

// admin returns the store's Admin and closes it at the end of the test.
func (c *conformer) admin() store.Admin {
	c.t.Helper()
	return c.adminOf(c.t, c.access)
}

// adminOf returns the Admin for the given access settings and closes it at the end of the test.
func (f *Fixture) adminOf(t *testing.T, access store.Access) store.Admin {
	t.Helper()
	a, err := f.Store.Admin(access)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a
}

// checkRefusals checks that each refused operation has the right outcome and an error text, and
// that the server still serves the next operation.
func (c *conformer) checkRefusals() {
	for _, r := range append(slices.Clone(c.Refused), c.TooLarge) {
		if r.Outcome == kv.OK {
			continue
		}
		w := Dial(c.t, c.Store, c.access)
		e, _ := w.Try(r.Op) // the server may close the connection
		if e.Outcome != r.Outcome || !strings.Contains(string(e.Text), r.Text) {
			c.t.Errorf("%v of %.40q: %v (%s), want %v with %q", r.Op.Kind, r.Op.Key, e.Outcome, e.Text, r.Outcome, r.Text)
		}
	}
	// The codec must refuse unsupported operations without sending them, because some servers fail
	// if they receive one.
	for k := range c.can.NoOperations {
		op := Put("not-there", nil)
		op.Kind = k
		c.want(kv.BadRequest, op)
	}
	c.want(kv.Miss, Get("not-there", c.levels[0]))
}

// lostConnections checks the errors of operations whose connection was lost. If the request was not
// written completely, the error must be definite. Otherwise it must be indefinite.
func (c *conformer) lostConnections() {
	for key, of := range map[string]struct {
		left int // number of bytes that are not written; -1 to write none
		want kv.Outcome
	}{
		"lost-before":  {-1, kv.NotSent},
		"lost-at-last": {1, kv.NotSent},
		"lost-behind":  {0, kv.ConnectionLost},
	} {
		w := Dial(c.t, c.Store, c.access)
		w.Ready()
		for out := w.Codec.Out(); len(out) > 0; out = w.Codec.Out() { // writes the handshake
			n, err := w.Conn.Write(out)
			if w.Codec.Wrote(n); err != nil {
				c.t.Fatal(err)
			}
		}
		op := Put(key, []byte("value"))
		op.Tag = w.NextTag()
		w.Codec.Submit(&op)
		if out := w.Codec.Out(); of.left >= 0 {
			n, err := w.Conn.Write(out[:len(out)-of.left])
			if w.Codec.Wrote(n); err != nil {
				c.t.Fatal(err)
			}
		}
		_ = w.Conn.Close() // simulates the loss of the connection
		lost := w.Codec.Lost(nil)
		if len(lost) != 1 || lost[0].Tag != op.Tag || lost[0].Outcome != of.want {
			c.t.Errorf("%s: %+v, want %v", key, lost, of.want)
		}
		next := DialWith(c.t, c.access, c.Store.Codecs(c.access), w.Codec)
		next.Want(kv.OK, Put("found", []byte(key)))
		c.checkValue("found", []byte(key))
		if of.want.Definite() {
			c.want(kv.Miss, Get(key, c.levels[0]))
		}
	}
}

// administration tests queries and maintenance on a cluster of one member.
func (c *conformer) administration() {
	a := c.admin()
	s, err := a.Status(c.t.Context())
	if err != nil || s.Version == "" || s.Leader() == nil || s.Leader().Endpoint != c.access.Endpoints[0] {
		c.t.Fatalf("status %+v, %v", s, err)
	}
	if err := CheckRoles(c.t.Context(), a, &s); err != nil {
		c.t.Error(err)
	}
	if got, err := a.Members(c.t.Context()); err != nil || !slices.Equal(store.Endpoints(got), c.access.Endpoints) {
		c.t.Errorf("members %v: %v", got, err)
	}
	if deleter, ok := a.(store.Cleaner); ok {
		c.deletePrefix(deleter)
	}
	if hasher, ok := a.(store.Operator); ok && c.can.Has(kv.Hashes) {
		if all, err := hasher.Hash(c.t.Context()); err != nil || len(all) != 1 || all[0].Hash == 0 {
			c.t.Errorf("hashes %+v: %v", all, err)
		}
	}
	if m, ok := a.(store.Operator); ok && c.can.Has(kv.Compaction) {
		if revision, err := m.TrimHistory(c.t.Context(), 5); err != nil || revision <= 0 {
			c.t.Errorf("TrimHistory compacted to revision %d: %v", revision, err)
		}
		if revision, err := m.Compact(c.t.Context()); err != nil || revision <= 0 {
			c.t.Errorf("Compact compacted to revision %d: %v", revision, err)
		}
		if err := m.Defragment(c.t.Context()); err != nil {
			c.t.Error(err)
		}
	}
	c.checkMaintenance(a, &s)
}

// checkMaintenance runs the store's own maintenance operations and undoes their effects. (The tests
// of package trial cover a store that reaches its quota.)
func (c *conformer) checkMaintenance(a store.Admin, s *store.Status) {
	c.t.Helper()
	w, ok := a.(store.Operator)
	for _, f := range []kv.Feature{kv.Snapshots, kv.Alarms, kv.AuthSwitch} {
		if !c.can.Has(f) {
			continue
		}
		if !ok {
			c.t.Fatalf("the store has the feature %s, but its admin is not a store.Operator", f)
		}
		undo, err := w.PerformMaintenance(c.t.Context(), f, s.Members[0])
		if err != nil {
			c.t.Errorf("%s: %v", f, err)
		}
		if undo == nil {
			continue
		}
		if e := c.w.Do(Put("own work", []byte("v"))); e.Outcome == kv.OK {
			c.t.Errorf("%s: a put returned %+v, want an error", f, e)
		}
		if err := undo(c.t.Context()); err != nil {
			c.t.Errorf("undoing %s failed: %v", f, err)
		}
		c.want(kv.OK, Put("own work", []byte("v")))
	}
}

// checkDialFunction tests that the Admin opens all connections with the function Dial from the
// access settings. The endpoints are host names that cannot be resolved.
func (c *conformer) checkDialFunction() {
	const nowhere, behind = "nowhere.invalid:1", "behind.invalid:1"
	there := c.access.Endpoints[0]
	to := map[string]string{nowhere: there, behind: c.access.Backends[there]}
	access := c.access
	access.Endpoints, access.Backends = []string{nowhere}, nil
	if to[behind] != "" {
		access.Backends = map[string]string{nowhere: behind}
	}
	access.Dial = func(ctx context.Context, endpoint string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", to[endpoint])
	}
	a, err := c.Store.Admin(access)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = a.Close() }() // nothing can be lost: the Admin sends no further requests
	if s, err := a.Status(c.t.Context()); err != nil || s.Leader() == nil || s.Leader().Endpoint != nowhere {
		c.t.Errorf("status %+v, %v", s, err)
	}
	if _, err := a.Members(c.t.Context()); err != nil {
		c.t.Error(err)
	}
	if d, ok := a.(store.Cleaner); ok {
		if _, err := d.DeletePrefix(c.t.Context(), []byte("nobody/")); err != nil {
			c.t.Error(err)
		}
	}
	if m, ok := a.(store.Operator); ok && c.can.Has(kv.Defragmentation) {
		if err := m.Defragment(c.t.Context()); err != nil {
			c.t.Error(err)
		}
	}
}

func (c *conformer) deletePrefix(d store.Cleaner) {
	c.t.Helper()
	for _, key := range []string{"gone/1", "gone/23", "gone/24", "gonefishing", "gondola"} {
		c.want(kv.OK, Put(key, []byte("v")))
	}
	for _, of := range []struct {
		prefix string
		n      int64
	}{{"gone/2", 2}, {"gone/", 1}, {"gonef", 1}, {"nobody/", 0}} {
		if n, err := d.DeletePrefix(c.t.Context(), []byte(of.prefix)); err != nil || n != of.n {
			c.t.Errorf("DeletePrefix(%q) removed %d keys, want %d: %v", of.prefix, n, of.n, err)
		}
	}
	if _, err := d.DeletePrefix(c.t.Context(), nil); err == nil {
		c.t.Error("DeletePrefix accepted an empty prefix")
	}
	c.want(kv.OK, Get("gondola", c.levels[0]))
	c.want(kv.Miss, Get("gone/1", c.levels[0]))
}

// testTLS tests the codec and the Admin over TLS. It also checks that operations on a connection
// without TLS fail.
func testTLS(t *testing.T, f Fixture) {
	s := f.Start(t, Options{TLS: true})
	if s == nil {
		null, ok := f.Store.(store.NullServerProvider)
		if !ok {
			t.Skip("the fixture has no TLS server, and the store has no null server")
		}
		server, client := certs.Configs(t)
		client.NextProtos = f.Store.Capabilities().ALPN
		s = &Server{Access: store.Access{Endpoints: ServeNull(t, null, 1, store.NullOptions{Memory: true, TLS: server}), TLS: client}}
	}
	c := newConformer(t, f, s.Access)
	c.agreeOnKey("tls", []byte("v"))
	for i, value := range f.Values {
		if len(value) < 128<<10 { // includes values that span several TLS records
			c.agreeOnKey("tls-"+string(rune('a'+i)), value)
		}
	}
	if s, err := c.admin().Status(t.Context()); err != nil || s.Leader() == nil {
		t.Errorf("status %+v, %v", s, err)
	}
	c.want(kv.OK, Put("tls-kept", []byte("v")))
	if d, ok := c.admin().(store.Cleaner); ok {
		if n, err := d.DeletePrefix(t.Context(), []byte("tls-k")); n != 1 || err != nil {
			t.Errorf("DeletePrefix removed %d keys, want 1: %v", n, err)
		}
	}
	plain := s.Access
	plain.TLS = nil
	if e, err := Dial(t, f.Store, plain).Try(Put("plain", nil)); !e.Outcome.Failed() {
		t.Errorf("a put without TLS returned %+v, %v", e, err)
	}
}

// checkUser tests that a cluster with authentication serves a user who has the required
// permissions, and that it refuses users with a wrong password or none. The conformer's own server
// has no authentication.
func (c *conformer) checkUser() {
	t, f := c.t, c.Fixture
	s := f.Start(t, Options{User: true})
	if s == nil {
		t.Skip("the fixture has no server with authentication")
	}
	withoutAuth := c.access
	withoutAuth.User, withoutAuth.Password = "somebody", "secret"
	c = newConformer(t, f, s.Access)
	c.want(kv.OK, Put("user", []byte("v")))
	for _, level := range c.levels {
		if e := c.want(kv.OK, Get("user", level)); !bytes.Equal(e.Value, []byte("v")) {
			t.Errorf("%v read %q", level, e.Value)
		}
	}
	a := c.admin()
	if s, err := a.Status(t.Context()); err != nil || s.Leader() == nil {
		t.Errorf("status %+v, %v", s, err)
	}
	if got, err := a.Members(t.Context()); err != nil || len(got) != 1 {
		t.Errorf("members %v: %v", got, err)
	}
	if why, plain := uncheckedReason(t, a), uncheckedReason(t, f.adminOf(t, withoutAuth)); why != "" && why != plain || plain == "" {
		t.Errorf("the user is not checked: %q, and without authentication: %q", why, plain)
	}
	for _, a := range s.Denied {
		for _, op := range []store.Op{Put("user", []byte("w")), Get("user", c.levels[0])} {
			// If the password is wrong, the server may close the connection before the connection
			// is ready.
			e, err := Dial(t, f.Store, a).Try(op)
			if e.Outcome != kv.Denied && err == nil && (op.Kind == kv.Put || e.Outcome != kv.Miss) {
				t.Errorf("%v by user %q returned %+v", op.Kind, a.User, e)
			}
		}
	}
	c.want(kv.OK, Get("user", c.levels[0]))
}

// uncheckedReason returns the reason why a cluster does not check the user in the access settings,
// or an empty string if the cluster checks the user.
func uncheckedReason(t *testing.T, a store.Admin) string {
	t.Helper()
	why, err := a.UncheckedUserReason(t.Context())
	if err != nil {
		t.Error(err)
	}
	return why
}

// threeMembers tests a cluster of three members. Every member must respond at every consistency
// level and report its role. After the leader dies, the other members must continue.
func threeMembers(t *testing.T, f Fixture) {
	server := f.Start(t, Options{Members: 3})
	if server == nil {
		t.Skip("the fixture cannot start a cluster")
	}
	c := newConformer(t, f, server.Access)
	a := c.admin()
	s, _ := AwaitRoles(t, a)
	if s.Version == "" {
		t.Errorf("status %+v", s)
	}
	listed, err := a.Members(t.Context())
	got := slices.Sorted(slices.Values(store.Endpoints(listed)))
	if want := slices.Sorted(slices.Values(c.access.Endpoints)); err != nil || !slices.Equal(got, want) {
		t.Errorf("members %v, want %v: %v", got, want, err)
	}
	if !slices.IsSortedFunc(listed, func(a, b store.Member) int { return strings.Compare(a.Name, b.Name) }) {
		t.Errorf("the members are not sorted by name: %+v", listed)
	}
	for i, endpoint := range c.access.Endpoints {
		w := Dial(t, f.Store, c.accessTo(i))
		key := "member/" + string(rune('0'+i))
		w.Want(kv.OK, Put(key, []byte("v")))
		for _, level := range c.levels {
			// A follower may not yet have applied a write that it forwarded to the leader.
			if o := w.Do(Get(key, level)).Outcome; o != kv.OK && (level != kv.Local || o != kv.Miss) {
				t.Errorf("%s: the %v get ended with %v", endpoint, level, o)
			}
		}
	}
	if d, ok := a.(store.Cleaner); ok {
		if n, err := d.DeletePrefix(t.Context(), []byte("member/")); n != 3 || err != nil {
			t.Errorf("DeletePrefix removed %d keys, want 3: %v", n, err)
		}
	}
	if m, ok := a.(store.Operator); ok {
		for _, member := range s.Members {
			if member.Role == kv.Follower {
				if err := m.MoveLeader(t.Context(), member.ID); err != nil {
					t.Error(err)
				}
				break
			}
		}
	}
	if server.Kill != nil {
		c.killLeader(a, server)
	}
}

// accessTo returns the access settings with only the i-th endpoint.
func (c *conformer) accessTo(i int) store.Access {
	a := c.access
	a.Endpoints = a.Endpoints[i : i+1]
	return a
}

// killLeader kills the leader and checks that another member then serves requests. At first, the
// member may respond with errors, which must have a text.
func (c *conformer) killLeader(a store.Admin, server *Server) {
	c.t.Helper()
	_, leader := AwaitRoles(c.t, a)
	i := slices.Index(c.access.Endpoints, leader)
	server.Kill(i)
	var survivor *Wire
	for served := false; !served; { // the loop ends, because Dial sets a time limit
		if survivor == nil {
			survivor = Dial(c.t, c.Store, c.accessTo((i+1)%len(c.access.Endpoints)))
		}
		e, err := survivor.Try(Put("survivor", []byte("v")))
		switch {
		case err != nil:
			survivor = nil
		case e.Outcome == kv.OK:
			served = true
		case len(e.Text) == 0:
			c.t.Fatalf("the operation at a surviving member ended with %v, but without a text", e.Outcome)
		}
	}
	s, _ := AwaitRoles(c.t, a)
	if s.Members[i].Err == nil {
		c.t.Errorf("the status of a killed member is %+v", s.Members[i])
	}
}
