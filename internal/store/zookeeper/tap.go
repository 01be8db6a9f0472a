package zookeeper

import (
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// methods maps opcodes to the method names in a recording.
var methods = map[jute.Op]string{
	jute.OpCreate: "create", jute.OpCreate2: "create", jute.OpCreateContainer: "create", jute.OpCreateTTL: "create",
	jute.OpDelete: "delete", jute.OpExists: "exists", jute.OpGetData: "getData", jute.OpSetData: "setData",
	jute.OpGetChildren: "getChildren", jute.OpGetChildren2: "getChildren", jute.OpSync: "sync", jute.OpPing: "ping",
	jute.OpMulti: methodMulti, jute.OpAuth: "auth", jute.OpSetWatches: "setWatches", jute.OpAddWatch: "addWatch",
	jute.OpCloseSession: "closeSession", 6: "getACL", 7: "setACL", 16: "reconfig", 17: "checkWatches", 18: "removeWatches",
	22: "multiRead", 102: "sasl", 103: "getEphemerals", 104: "getAllChildrenNumber", 105: "setWatches2", 107: "whoAmI",
}

const (
	methodConnect = "connect" // request that starts or continues a session
	methodEvent   = "event"   // a watch event
	methodMulti   = "multi"
	methodOther   = "other"
)

// maxObservedRequests limits how many requests without a reply the decoder tracks on one
// connection.
const maxObservedRequests = 100_000

// Tap implements store.TapProvider.
func (*Store) Tap(cfg store.TapConfig) store.Tap { return NewTap(cfg) }

// NewTap returns a passive decoder for a connection to a server that speaks ZooKeeper's protocol.
func NewTap(cfg store.TapConfig) store.Tap {
	t := &tap{cfg: cfg}
	t.decoder = jute.NewPassiveDecoder(t)
	return t
}

// Feed implements store.Tap.
func (t *tap) Feed(fromClient bool, at int64, b []byte) error {
	t.now = at
	return t.decoder.Feed(fromClient, b)
}

// Open implements store.Tap.
func (t *tap) Open() int { return len(t.unanswered) }

// End implements store.Tap.
func (t *tap) End(at int64) {
	t.now = at
	for _, open := range t.unanswered {
		t.record(open.request)
	}
	t.unanswered = nil
}

func (t *tap) record(c *call.Call) {
	t.cfg.Call(c)
	if len(t.free) < 256 {
		t.free = append(t.free, c)
	}
}

// begin returns a new call; it reuses a call from t.free if possible.
func (t *tap) begin(method string, size int) *call.Call {
	c := &call.Call{}
	if n := len(t.free); n > 0 {
		c, t.free = t.free[n-1], t.free[:n-1]
		*c = call.Call{Parts: c.Parts[:0]}
	}
	c.At, c.Duration, c.Conn, c.Method, c.RequestSize = t.now, -1, t.cfg.Conn, method, size
	return c
}

func (t *tap) gap(reason string) {
	t.cfg.Gap(call.Gap{At: t.now, Conn: t.cfg.Conn, MissingCalls: 1, Reason: reason})
}

// OnFrame implements jute.FrameObserver.
func (t *tap) OnFrame(fromClient, first bool, body []byte, size int) {
	switch {
	case body == nil:
		t.gap("frames were skipped because they were too large")
	case fromClient && first:
		t.connect(body, size)
	case fromClient:
		t.decodeRequest(body, size)
	case first:
		t.connected(body, size)
	default:
		t.answered(body, size)
	}
}

// connect reads a ConnectRequest{protocolVersion int, lastZxidSeen long, timeOut int,
// sessionId long, passwd buffer}.
func (t *tap) connect(body []byte, size int) {
	r := jute.NewReader(body)
	_, _ = r.Int(), r.Long()
	c := t.begin(methodConnect, size)
	p := c.AddPart(call.Grant, call.Always)
	p.Number = (int64(r.Int()) + 999) / 1000
	p.Lease = r.Long() // the session that the client continues, or 0
	t.unanswered = append(t.unanswered, observedRequest{op: jute.OpError, request: c})
}

// connected reads a ConnectResponse{protocolVersion int, timeOut int, sessionId long,
// passwd buffer}.
func (t *tap) connected(body []byte, size int) {
	if len(t.unanswered) == 0 || t.unanswered[0].op != jute.OpError {
		return
	}
	r := jute.NewReader(body)
	_, _ = r.Int(), r.Int()
	c := t.removeRequest(0)
	c.Duration, c.ReplySize, c.Lease = t.now-c.At, size, r.Long()
	if c.Lease == 0 { // the session has expired
		c.Code = uint16(-jute.SessionExpired)
	}
	t.record(c)
}

// removeRequest removes the request with index i from the open requests and returns its call.
func (t *tap) removeRequest(i int) *call.Call {
	c := t.unanswered[i].request
	t.unanswered = append(t.unanswered[:i], t.unanswered[i+1:]...)
	return c
}

// decodeRequest decodes a request: RequestHeader{xid int, type int} and the request's record.
func (t *tap) decodeRequest(body []byte, size int) {
	r := jute.NewReader(body)
	xid, op := r.Int(), jute.Op(r.Int())
	method, known := methods[op]
	if !known {
		method = methodOther
	}
	c := t.begin(method, size)
	q := tapRequest{t: t, c: c}
	if !q.read(op, &r) || len(c.Parts) > call.MaxParts {
		t.gap("requests of " + method + " are malformed or have too many parts")
		c.Parts = append(c.Parts[:0], call.Part{Action: call.OtherAction})
		c.Guarded = false
	}
	if len(t.unanswered) >= maxObservedRequests {
		t.gap("requests were not recorded because too many earlier requests had no reply yet")
		return
	}
	t.unanswered = append(t.unanswered, observedRequest{xid, op, c})
}

// answered decodes a reply: ReplyHeader{xid int, zxid long, err int} and the reply's record.
func (t *tap) answered(body []byte, size int) {
	r := jute.NewReader(body)
	xid, zxid, code := r.Int(), r.Long(), jute.Code(r.Int())
	if !r.OK() {
		return
	}
	if xid == jute.XidNotification {
		c := t.begin(methodEvent, 0)
		c.Pushed, c.Duration, c.ReplySize, c.KeyCount = true, 0, size, 1
		t.record(c)
		return
	}
	for i, one := range t.unanswered {
		if one.xid != xid || one.op == jute.OpError {
			continue
		}
		c := t.removeRequest(i)
		c.Duration, c.ReplySize, c.Revision = t.now-c.At, size, max(zxid, 0)
		a := tapAnswer{t: t, c: c, r: r}
		a.read(one.op, code)
		t.record(c)
		return
	}
}
