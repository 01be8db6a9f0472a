package golden

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/store/registry"
)

// step is an event on a connection: an operation is submitted, the clock advances, a response
// arrives, or the client cancels or closes.
type step struct {
	op     *store.Op
	tick   int64
	answer []byte
	close  bool // the client closes the session
	cancel bool // the client cancels the operation
}

// talk is a script for one connection: a name and a sequence of steps.
type talk struct {
	name   string
	access store.Access
	steps  []step
	again  bool // a second connection replaces the first at the end
}

// protocol contains the functions for one protocol. The function `greeting` returns the server's
// first message. The function `pieces` splits the bytes of requests into readable pieces.
type protocol struct {
	greeting func(a store.Access) []byte
	pieces   func(b []byte) []string
}

var (
	overHTTP1 = protocol{func(store.Access) []byte { return nil }, requestsOfHTTP}
	overHTTP2 = protocol{func(store.Access) []byte { return frame(4, 0, 0, nil) }, framesOfHTTP2}
	overJute  = protocol{juteGreeting, packetsOfJute}
)

// TestRequests compares the bytes that the codecs write with the golden files; these bytes are
// deterministic. For each kind of operation that a store does not support, TestRequests also
// submits one operation and records what the codec writes.
func TestRequests(t *testing.T) {
	t.Parallel()
	for _, st := range registry.All() {
		t.Run(st.Name(), func(t *testing.T) {
			p := overHTTP1
			switch st.Name() {
			case "etcd":
				p = overHTTP2
			case "zookeeper", "zetcd":
				p = overJute
			}
			var all strings.Builder
			for _, of := range [][]talk{single(st), calls(st), exchanges(st.Name())} {
				for i := range of {
					hold(t, &all, st, &p, &of[i])
				}
			}
			compare(t, "requests-"+st.Name()+".txt", all.String())
		})
	}
}

// hold runs a connection script and adds the bytes that the codec writes to the text. It includes
// the bytes at the start of the connection only if the script has no steps or sets a user or a
// session timeout.
func hold(t *testing.T, all *strings.Builder, st store.Store, p *protocol, of *talk) {
	t.Helper()
	fmt.Fprintf(all, "== %s\n", of.name)
	begins := len(of.steps) == 0 || of.access.User != "" || of.access.SessionTimeout != 0
	codecs := st.Codecs(of.access)
	dialed := store.ConnectionInfo{Endpoint: "127.0.0.1:2379", Now: 1}
	c := codecs(dialed)
	connect := func(shown bool) {
		c.Tick(1)
		written := take(c)
		if greeting := p.greeting(of.access); greeting != nil {
			if _, err := c.Feed(greeting, nil); err != nil {
				t.Fatalf("%s: %v", of.name, err)
			}
			written = append(written, take(c)...)
		}
		if shown {
			show(all, p, written)
		}
	}
	connect(begins)
	tag := uint32(0)
	for _, s := range of.steps {
		switch {
		case s.op != nil:
			tag++
			op := *s.op
			op.Tag = tag
			if c.Room() <= 0 {
				t.Fatalf("%s: the codec has no room for an operation", of.name)
			}
			c.Submit(&op)
		case s.close:
			c.(store.SessionCodec).Close()
		case s.cancel:
			fmt.Fprintf(all, "given up; its place is free: %t\n", c.Cancel(tag))
		case s.tick != 0:
			c.Tick(s.tick)
		default:
			all.WriteString("server answers\n")
			reported, err := c.Feed(s.answer, nil)
			for i := range reported {
				e := &reported[i]
				fmt.Fprintf(all, "event: %s of tag %d, %v, revision %d, count %d, %d further requests\n", events[e.Type], e.Tag, e.Outcome, e.Revision, e.Count, e.ExtraRequests)
			}
			if err != nil {
				fmt.Fprintf(all, "error: %v\n", err)
			}
		}
		show(all, p, take(c))
	}
	if of.again {
		all.WriteString("the connection is lost, and the next one begins\n")
		c.Lost(nil)
		dialed.Previous = c
		c = codecs(dialed)
		connect(true)
	}
}

var events = [...]string{
	store.OperationDone: "done", store.LateResponse: "late", store.LockAcquired: "held", store.LockReleasing: "freed", store.SessionClosed: "closed",
	store.WatchChange: "notify", store.WatchProgress: "seen", store.WatchEnded: "ended", store.SessionExpired: "expired",
}

// take returns the bytes that the codec wants to write, and marks these bytes as written.
func take(c store.Codec) []byte {
	b := bytes.Clone(c.Out())
	c.Wrote(len(b))
	return b
}

func show(all *strings.Builder, p *protocol, b []byte) {
	if len(b) == 0 {
		return
	}
	for _, piece := range p.pieces(b) {
		all.WriteString("  " + piece + "\n")
	}
}

// longest is the maximum number of bytes that the golden files show in full.
const longest = 600

// shown returns bytes in hexadecimal. If there are more than `longest` bytes, it returns their
// number and a hash instead.
func shown(b []byte) string {
	if len(b) <= longest {
		return hex.EncodeToString(b)
	}
	return fmt.Sprintf("%d bytes, SHA-256 %x", len(b), sha256.Sum256(b))
}

// requestsOfHTTP returns the head and the body of an HTTP/1.1 request as quoted Go strings.
func requestsOfHTTP(b []byte) []string {
	head, body, _ := bytes.Cut(b, []byte("\r\n\r\n"))
	pieces := []string{fmt.Sprintf("%+q", string(head)+"\r\n\r\n")}
	if len(head) > 2*longest {
		pieces[0] = shown(head)
	}
	switch {
	case len(body) > longest:
		pieces = append(pieces, "body of "+shown(body))
	case len(body) > 0:
		pieces = append(pieces, fmt.Sprintf("body %+q", body))
	}
	return pieces
}

// framesOfHTTP2 returns HTTP/2 frames in hexadecimal, each with a space between its header and its
// payload.
func framesOfHTTP2(b []byte) (pieces []string) {
	const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	if rest, is := bytes.CutPrefix(b, []byte(preface)); is {
		pieces, b = append(pieces, fmt.Sprintf("%q", preface)), rest
	}
	for len(b) >= 9 {
		end := 9 + int(b[0])<<16 + int(b[1])<<8 + int(b[2])
		if end > len(b) {
			break
		}
		pieces = append(pieces, strings.TrimSpace(hex.EncodeToString(b[:9])+" "+shown(b[9:end])))
		b = b[end:]
	}
	if len(b) > 0 {
		pieces = append(pieces, "no whole frame: "+shown(b))
	}
	return pieces
}

// packetsOfJute returns ZooKeeper packets in hexadecimal, each with a space after its length.
func packetsOfJute(b []byte) (pieces []string) {
	for len(b) >= 4 {
		end := 4 + int(binary.BigEndian.Uint32(b))
		if end > len(b) {
			break
		}
		pieces = append(pieces, hex.EncodeToString(b[:4])+" "+shown(b[4:end]))
		b = b[end:]
	}
	if len(b) > 0 {
		pieces = append(pieces, "no whole packet: "+shown(b))
	}
	return pieces
}

// awkward lists keys that an encoder might encode incorrectly.
var awkward = []struct{ name, key string }{
	{"short", "k"},
	{"folders", "/a/b/c"},
	{"relative folders", "a/b/c"},
	{"space", "a b"},
	{"letters beyond ASCII", "ü/√/𝄞"},
	{"reserved bytes", "a%2F?b&c=d#e+f;g@h:i"},
	{"quotes", `a"b\c'd`},
	{"line ends", "a\r\nb"},
	{"no text", "\x00\x01\x7f\x80\xff"},
	{"dots", "/a/./b/../c"},
	{"two slashes", "/a//b"},
	{"slash at the end", "/a/b/"},
	{"long", strings.Repeat("0123456789", 30)},
}

// bytesOf returns n bytes, which are the same in each call. If n is at least 256, they include
// every byte value.
func bytesOf(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8)
	}
	return b
}

const (
	kibi64 = 64 << 10
	leased = 0x1234567890abcdef
)

// leaseName is the name of a lease for stores that identify leases by name.
var leaseName = []byte("0b1c2d3e-4f50-6172-8394-a5b6c7d8e9fa")

// keys accepts the keys in responses and discards them.
type keys struct{}

func (keys) Begin(uint32) bool                 { return true }
func (keys) Add(uint32, []byte, []byte, int64) {}

// single returns one connection script for each operation that the store supports. Each script
// submits one operation.
func single(st store.Store) (all []talk) {
	can := st.Capabilities()
	user := talk{name: "a connection of a user", access: store.Access{User: "root", Password: "p:w d"}}
	if st.Name() != "etcd" { // etcd's codec needs a token before it can send operations
		user.steps = []step{{op: new(put("/a/key"))}}
	}
	all = append(all, talk{name: "a connection"}, user, talk{name: "put, given up", steps: []step{{op: new(put("/a/key"))}, {cancel: true}}})
	add := func(name string, op store.Op) {
		if can.Operations[op.Kind] != "" {
			all = append(all, talk{name: name, steps: []step{{op: &op}}})
		}
	}
	key, value := []byte("/a/key"), []byte("value")
	for _, k := range awkward {
		add("put, key: "+k.name, store.Op{Kind: kv.Put, Key: []byte(k.key), Value: value})
		add("delete, key: "+k.name, store.Op{Kind: kv.Delete, Key: []byte(k.key)})
	}
	for _, v := range []struct {
		name  string
		value []byte
	}{{"empty", []byte{}}, {"of all bytes", bytesOf(256)}, {"of 64 KiB", bytesOf(kibi64)}} {
		add("put, value "+v.name, store.Op{Kind: kv.Put, Key: key, Value: v.value})
		add("cas of a new key, value "+v.name, store.Op{Kind: kv.CAS, Key: key, Value: v.value})
		add("ephemeral, value "+v.name, store.Op{Kind: kv.Ephemeral, Key: key, Value: v.value})
		add("txn, value "+v.name, store.Op{Kind: kv.Txn, Pairs: []store.Pair{{Key: key, Value: v.value}}})
	}
	for level := range kv.NumConsistencies {
		if can.Reads[level] == "" {
			continue
		}
		of := ", " + level.String()
		for _, k := range awkward {
			add("get"+of+", key: "+k.name, store.Op{Kind: kv.Get, Consistency: level, Key: []byte(k.key)})
		}
		add("exists"+of, store.Op{Kind: kv.Exists, Consistency: level, Key: key})
		for _, f := range []struct {
			name, key string
			of        store.RangeOp
		}{
			{"one key", "/a/key", store.RangeOp{}},
			{"interval", "/a/b", store.RangeOp{End: []byte("/a/d")}},
			{"interval of other folders", "/a/b", store.RangeOp{End: []byte("/c/d")}},
			{"prefix", "/a/", store.RangeOp{End: []byte("/a0")}},
			{"relative prefix", "a/", store.RangeOp{End: []byte("a0")}},
			{"no text", "/\x00\xfe", store.RangeOp{End: []byte("/\x00\xff")}},
			{"limit", "/a/b", store.RangeOp{End: []byte("/a/d"), Limit: 1000}},
			{"count", "/a/b", store.RangeOp{End: []byte("/a/d"), CountOnly: true}},
			{"keys only", "/a/b", store.RangeOp{End: []byte("/a/d"), KeysOnly: true, Limit: 7}},
			{"stream", "/a/b", store.RangeOp{End: []byte("/a/d"), Streamed: true}},
			{"pages", "/a/b", store.RangeOp{End: []byte("/a/d"), PageSize: 100, Limit: 250}},
		} {
			special := f.of.CountOnly || f.of.KeysOnly || f.of.Streamed || f.of.PageSize > 0
			if special && !can.Has(kv.RangeForms) {
				continue
			}
			f.of.Keys = keys{}
			add("range"+of+", "+f.name, store.Op{Kind: kv.Range, Consistency: level, Key: []byte(f.key), Range: &f.of})
			if !f.of.Streamed && f.of.PageSize == 0 {
				add("txn-get"+of+", "+f.name, store.Op{Kind: kv.TxnGet, Consistency: level, Key: []byte(f.key), Range: &f.of})
			}
		}
	}
	add("cas of a version", store.Op{Kind: kv.CAS, Key: key, Value: value, Revision: 7})
	add("cas of a high version", store.Op{Kind: kv.CAS, Key: key, Value: value, Revision: 1 << 30})
	add("cas of a version that is not known", store.Op{Kind: kv.CAS, Key: key, Value: value, Revision: -1})
	pairs := []store.Pair{}
	for _, k := range awkward[:6] {
		pairs = append(pairs, store.Pair{Key: []byte(k.key), Value: value})
	}
	add("txn of several keys", store.Op{Kind: kv.Txn, Pairs: pairs})
	add("keepalive", store.Op{Kind: kv.KeepAlive, Lease: leased, LeaseName: leaseName})
	for i := range kv.NumIsolations {
		add("stm, isolation "+i.String(), store.Op{Kind: kv.STM, STM: &store.STMOp{Isolation: i, Pairs: []store.Pair{{Key: []byte("/a/1"), Value: value}, {Key: []byte("/a/2")}}}})
	}
	for l := kv.LockNone + 1; l < kv.NumLockers; l++ {
		add("stm, locker "+l.String(), store.Op{Kind: kv.STM, Lease: leased, LeaseName: leaseName,
			STM: &store.STMOp{Lock: []byte("/lock"), Locker: l, Lease: leased, Pairs: []store.Pair{{Key: key, Value: value}}}})
	}
	for m := range kv.NumWatchModes {
		if can.Watches.Modes[m] == "" {
			continue
		}
		of := "watch, " + m.String()
		watch := func(name, key string, w store.WatchOp) {
			w.Mode, w.Watcher = m, 3
			add(of+", "+name, store.Op{Kind: kv.Watch, Key: []byte(key), Watch: &w})
		}
		watch("key", "/a/key", store.WatchOp{})
		watch("interval", "/a/", store.WatchOp{End: []byte("/a0")})
		watch("from a revision", "/a/key", store.WatchOp{Start: 12345})
		watch("with values before", "/a/key", store.WatchOp{PrevKV: true})
		watch("with progress, of a member with a leader", "/a/key", store.WatchOp{ProgressNotifications: true, RequireLeader: true})
		if can.Has(kv.SessionLocks) {
			watch("holder of a lock", "/a/key", store.WatchOp{WatchesLock: true, QueryWait: 10 * time.Second})
		}
		if can.Has(kv.Services) {
			watch("service", "web", store.WatchOp{Service: true})
		}
	}
	if can.Has(kv.Services) {
		service := func(name string, op store.Op, s store.ServiceOp) {
			op.Key, s.Name, op.Service, op.Range = []byte("web-1"), []byte("web"), &s, &store.RangeOp{}
			add("service, "+name, op)
		}
		service("register", store.Op{Kind: kv.Put, Value: []byte(`of "all"`)}, store.ServiceOp{Passing: true})
		service("health", store.Op{Kind: kv.Put}, store.ServiceOp{CheckOnly: true})
		service("deregister", store.Op{Kind: kv.Delete}, store.ServiceOp{})
		service("instances", store.Op{Kind: kv.Range, Consistency: kv.Local}, store.ServiceOp{})
		service("checks", store.Op{Kind: kv.Range, Consistency: kv.LeaderLease}, store.ServiceOp{Passing: true})
	}
	if st.Name() == "etcd" {
		return all // the codec never receives operations that the store does not support
	}
	for k := range kv.NumKinds {
		if can.Operations[k] == "" {
			all = append(all, talk{name: k.String() + ", which the store does not have", steps: []step{{op: &store.Op{
				Kind: k, Key: key, Value: value, Pairs: pairs[:1], Range: &store.RangeOp{}, STM: &store.STMOp{Pairs: pairs[:1]}, Watch: &store.WatchOp{},
			}}}})
		}
	}
	return all
}

// calls returns one connection script for each call that the store's codecs can send for
// applications and replays.
func calls(st store.Store) (all []talk) {
	can := st.Capabilities()
	replayer, replays := st.(store.Replayer)
	applications := can.Has(kv.ApplicationCalls) || can.Has(kv.SessionNodes) || can.Has(kv.SessionLocks)
	if !replays && !applications {
		return nil
	}
	text := func(s string) call.Value { return call.Value{Size: len(s), Text: []byte(s)} }
	key, prefix, end := []byte("/a/key"), []byte("/a/"), []byte("/a0")
	always, then, other := call.Always, call.Then, call.Else
	read := call.Part{Action: call.Read, Key: key}
	list := call.Part{Action: call.Read, Scope: call.Prefix, Key: prefix}
	write := call.Part{Action: call.Write, Key: key, Value: text("value")}
	remove := call.Part{Action: call.Remove, Key: key}
	with := func(p call.Part, change func(*call.Part)) call.Part {
		change(&p)
		return p
	}
	in := func(p call.Part, b call.Branch) call.Part {
		return with(p, func(p *call.Part) { p.Branch = b })
	}
	flagged := func(p call.Part, f call.Flags) call.Part {
		return with(p, func(p *call.Part) { p.Flags = f })
	}
	compared := func(target call.Target, r call.Relation, number int64) call.Part {
		return call.Part{Action: call.Compare, Target: target, Relation: r, Key: key, Number: number}
	}
	guards := []call.Part{
		compared(call.Modified, call.Equal, 7), compared(call.Version, call.Equal, 0), compared(call.Created, call.Greater, 9),
		with(compared(call.ValueTarget, call.NotEqual, 0), func(p *call.Part) { p.Value = text("other") }),
		with(compared(call.LeaseTarget, call.Less, 0), func(p *call.Part) { p.Lease, p.Name = leased, leaseName }),
	}
	owned := with(write, func(p *call.Part) { p.Lease, p.Name = leased, leaseName })
	// methods contains the protocol's method for each action. In some stores, the method determines
	// the request.
	methods := map[call.Action]string{}
	several := ""
	switch st.Name() {
	case "etcd", "etcd-gateway":
		several = "KV/Txn"
		methods = map[call.Action]string{call.Read: "KV/Range", call.Write: "KV/Put", call.Remove: "KV/DeleteRange", call.Compare: "KV/Txn",
			call.Grant: "Lease/LeaseGrant", call.Revoke: "Lease/LeaseRevoke", call.KeepAlive: "Lease/LeaseKeepAlive",
			call.Compaction: "KV/Compact", call.Watch: "Watch/Watch", call.Unwatch: "Watch/Watch"}
	case "consul", "cetcd":
		several = "PUT txn"
		methods = map[call.Action]string{call.Read: "GET kv", call.Write: "PUT kv", call.Remove: "DELETE kv", call.Compare: "PUT kv",
			call.Grant: "PUT session/create", call.Revoke: "PUT session/destroy", call.KeepAlive: "PUT session/renew"}
	case "etcdv2":
		several = "PUT keys"
		methods = map[call.Action]string{call.Read: "GET keys", call.Write: "PUT keys", call.Remove: "DELETE keys", call.Compare: "PUT keys"}
	case "zookeeper", "zetcd":
		several = "multi"
	}
	add := func(name string, parts ...call.Part) {
		c := call.Call{Duration: 1, Method: methods[parts[0].Action], Guarded: parts[0].Action == call.Compare, GuardsHeld: true, Parts: parts}
		if len(parts) > 2 || parts[0].Branch != always {
			c.Method = several
		}
		if replays && !replayer.CanReplay(&c) {
			return
		}
		op := store.Op{Call: &c, Lease: parts[0].Lease, LeaseName: parts[0].Name}
		op.Kind, _, _ = c.Kind()
		if parts[0].Action == call.Read {
			op.Range = &store.RangeOp{Keys: keys{}, KeysOnly: parts[0].Flags&call.KeysOnly != 0}
		}
		if parts[0].Action == call.Watch || len(parts) == 2 && parts[1].Action == call.Watch {
			op.Watch = &store.WatchOp{Watcher: 3}
		}
		all = append(all, talk{name: "call: " + name, steps: []step{{op: &op}}})
	}
	add("read", read)
	add("read, local", flagged(read, call.Local))
	add("read, as the lease of the leader has it", flagged(read, call.LeaderLeaseRead))
	add("read, at a revision", with(read, func(p *call.Part) { p.Number = 12345 }))
	add("read, without a value", flagged(read, call.KeysOnly))
	add("list", list)
	add("list, local, names only, at most 500", with(list, func(p *call.Part) { p.Flags, p.Limit = call.Local|call.KeysOnly, 500 }))
	add("list, count", flagged(list, call.CountOnly))
	add("list, sorted", flagged(list, call.Sorted|call.Descending))
	add("list, the next page", call.Part{Action: call.Read, Scope: call.LaterPage, Key: append(bytes.Clone(key), 0), End: prefix, Limit: 500, Number: 77})
	add("list, an interval", call.Part{Action: call.Read, Scope: call.Interval, Key: prefix, End: end})
	add("list, all keys starting at a key", call.Part{Action: call.Read, Scope: call.FromKey, Key: key})
	add("write", write)
	add("write, with a lease", owned)
	add("write, existing", flagged(write, call.MustExist))
	add("write, sequential", flagged(write, call.Sequential))
	add("write, ephemeral", flagged(write, call.Ephemeral))
	add("write, value kept", flagged(write, call.PreviousValue|call.KeepValue))
	add("write, with a time to live", with(write, func(p *call.Part) { p.Number = 30 }))
	add("remove", remove)
	add("remove, a prefix", with(remove, func(p *call.Part) { p.Scope, p.Key, p.Flags = call.Prefix, prefix, call.PreviousValue }))
	for _, g := range guards {
		name := fmt.Sprintf("guard of target %d, relation %d", g.Target, g.Relation)
		add(name+", write", g, in(write, then))
		add(name+", remove", g, in(remove, then))
	}
	add("guard, write with a lease", guards[1], in(owned, then))
	add("guard, write or read", guards[0], in(write, then), in(read, other))
	add("guards, several", guards[0], guards[1], in(write, then), in(remove, then), in(list, other))
	add("transaction without a guard", in(write, then), in(remove, then))
	add("grant", call.Part{Action: call.Grant, Number: 30})
	add("grant, with a number", call.Part{Action: call.Grant, Number: 30, Lease: leased, Name: leaseName})
	add("grant, of ephemeral keys", call.Part{Action: call.Grant, Number: 15, Limit: 2, Flags: call.Ephemeral | call.NoHealthChecks})
	add("revoke", call.Part{Action: call.Revoke, Lease: leased, Name: leaseName})
	add("keep-alive", call.Part{Action: call.KeepAlive, Lease: leased, Name: leaseName})
	if methods[call.Compaction] != "" {
		add("compaction", call.Part{Action: call.Compaction, Number: 12345})
		if !replays {
			add("status", call.Part{Action: call.AskStatus})
		}
	}
	if can.Has(kv.CallWatchers) {
		add("watch", call.Part{Action: call.Watch, Scope: call.Prefix, Key: prefix, Number: 12345, Flags: call.PreviousValue | call.Progress})
	}
	if can.Has(kv.SessionNodes) {
		add("read with a watch", flagged(read, call.Local), call.Part{Action: call.Watch, Key: key})
		add("exists with a watch", flagged(read, call.Local|call.KeysOnly), call.Part{Action: call.Watch, Key: key})
	}
	return all
}
