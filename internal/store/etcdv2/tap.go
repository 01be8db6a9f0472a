package etcdv2

import (
	"strconv"
	"strings"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
)

// Names of methods in a recording.
const (
	methodGet    = "GET keys"
	methodWait   = "GET keys?wait"
	methodPut    = "PUT keys"
	methodPost   = "POST keys"
	methodDelete = "DELETE keys"
)

// tap implements store.Tap for one connection between a client and a member.
type tap struct {
	redactor *call.Redactor
	parser   codec // parses responses
}

// Tap implements store.TapProvider.
func (*Store) Tap(cfg store.TapConfig) store.Tap {
	return httpkv.NewTap(cfg, &tap{redactor: cfg.Redactor}, "X-Etcd-Index")
}

// DecodeRequest implements httpkv.TrafficDecoder.
func (t *tap) DecodeRequest(c *call.Call, r *httpkv.Request) {
	key, isKey := strings.CutPrefix(r.Path, "/v2/keys")
	key = strings.Trim(key, "/")
	switch {
	case isKey && r.Verb == "GET":
		t.read(c, r, key)
	case isKey && (r.Verb == "PUT" || r.Verb == "POST"):
		t.write(c, r, key)
	case isKey && r.Verb == "DELETE":
		t.remove(c, r, key)
	}
	if c.Method == "" {
		c.Method = r.Verb + " " + endpointOf(r.Path)
	}
	if len(c.Parts) == 0 {
		c.Parts = append(c.Parts, call.Part{Action: call.OtherAction})
	}
}

// endpointOf returns the name of the part of the API that a path belongs to, or "other". It never
// returns the path itself, because a path can contain any text.
func endpointOf(path string) string {
	for _, e := range []string{"keys", "members", "stats", "machines", "auth"} {
		if rest, ok := strings.CutPrefix(path, "/v2/"+e); ok && (rest == "" || rest[0] == '/') {
			return e
		}
	}
	return "other"
}

// part adds a part with a key to the call. The pointer is valid until part is called again.
func (t *tap) part(c *call.Call, a call.Action, b call.Branch, key string) *call.Part {
	c.Parts = append(c.Parts, call.Part{Action: a, Branch: b, Key: t.redactor.RedactKey([]byte(key))})
	return &c.Parts[len(c.Parts)-1]
}

// setFolder changes a part so that it applies to all keys in a folder. The part's key is the
// folder's name.
func setFolder(p *call.Part) {
	if p.Scope = call.Prefix; len(p.Key) > 0 {
		p.Key = append(p.Key, '/')
	}
}

func isTrue(q httpkv.Query, name string) bool {
	value, _ := q.Get(name)
	return value == "true"
}

func (t *tap) read(c *call.Call, r *httpkv.Request, key string) {
	c.Method = methodGet
	p := t.part(c, call.Read, call.Always, key)
	if !isTrue(r.Query, "quorum") {
		p.Flags = call.Local
	}
	if isTrue(r.Query, "wait") {
		index, _ := r.Query.Get("waitIndex")
		c.Method, p.Action, p.Flags = methodWait, call.Watch, 0
		if n, err := strconv.ParseInt(index, 10, 64); err == nil {
			p.Number = max(n, 0)
		}
	}
	if isTrue(r.Query, "recursive") || key == "" {
		setFolder(p)
	}
}

// addGuards adds the conditions of a write to the call. It returns the branch to which the write
// belongs.
func (t *tap) addGuards(c *call.Call, q, form httpkv.Query, key string) call.Branch {
	given := func(name string) (string, bool) {
		if value, ok := q.Get(name); ok {
			return value, true
		}
		return form.Get(name)
	}
	if text, ok := given("prevIndex"); ok {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 0 {
			p := t.part(c, call.Compare, call.Always, key)
			p.Target, p.Number = call.Modified, n
		}
	}
	if text, ok := given("prevValue"); ok && text != "" {
		p := t.part(c, call.Compare, call.Always, key)
		p.Target, p.Value = call.ValueTarget, t.redactor.RedactValue([]byte(text))
	}
	if text, ok := given("prevExist"); ok && text == "false" {
		t.part(c, call.Compare, call.Always, key).Target = call.Created
	}
	if c.Guarded = len(c.Parts) > 0; c.Guarded {
		return call.Then
	}
	return call.Always
}

func (t *tap) write(c *call.Call, r *httpkv.Request, key string) {
	form := httpkv.Query(r.Body)
	both := httpkv.Query(string(r.Query) + "&" + string(form))
	if isTrue(both, "dir") {
		c.Method = r.Verb + " keys?dir"
		return
	}
	if c.Method = methodPut; r.Verb == "POST" {
		c.Method = methodPost
	}
	branch := call.Always
	if r.Verb == "PUT" {
		branch = t.addGuards(c, r.Query, form, key)
	}
	p := t.part(c, call.Write, branch, key)
	if r.Verb == "POST" {
		p.Flags |= call.Sequential
	}
	if isTrue(both, "prevExist") {
		p.Flags |= call.MustExist
	}
	if isTrue(both, "refresh") {
		p.Flags |= call.KeepValue | call.MustExist
	}
	if ttl, ok := both.Get("ttl"); ok {
		if n, err := strconv.ParseInt(ttl, 10, 64); err == nil {
			p.Number = max(n, 0)
		}
	}
	value, _ := both.Get("value")
	if p.Value = t.redactor.RedactValue([]byte(value)); !r.IsComplete() {
		p.Value = call.Value{Size: r.Size}
	}
}

func (t *tap) remove(c *call.Call, r *httpkv.Request, key string) {
	if c.Method = methodDelete; isTrue(r.Query, "dir") && !isTrue(r.Query, "recursive") {
		c.Method = "DELETE keys?dir"
		return
	}
	p := t.part(c, call.Remove, t.addGuards(c, r.Query, "", key), key)
	if isTrue(r.Query, "recursive") {
		setFolder(p)
	}
}

// DecodeResponse implements httpkv.TrafficDecoder. In the response to a write, the index in the
// header is the index of the write.
func (t *tap) DecodeResponse(c *call.Call, a *http1.ObservedResponse) {
	c.Revision = a.Uint(0)
	if a.Status == 200 || a.Status == 201 {
		c.GuardsHeld = c.Guarded
		t.decodeSuccess(c, a)
		return
	}
	c.Code = uint16(a.Status) // #nosec G115 -- three digits
	failure, ok := t.parser.parseError(a.Body)
	switch {
	case !ok:
	case failure.code == keyNotFound && (c.Guarded || c.Method == methodGet),
		c.Guarded && (failure.code == compareFailed || failure.code == nodeExists):
		c.Code = 0
	}
}

func (t *tap) decodeSuccess(c *call.Call, a *http1.ObservedResponse) {
	p := &c.Parts[len(c.Parts)-1]
	switch c.Method {
	case methodGet, methodWait:
		var e store.Event
		if p.Scope == call.SingleKey {
			n, ok := t.parser.parseOne(a.Body)
			if p.Value.Size = len(n.value); !ok || !n.folder {
				c.KeyCount = 1
				return
			}
			setFolder(p) // the response lists only the keys directly in the folder
			p.Flags |= call.KeysOnly
		}
		if t.parser.parseList(a.Body, &e) {
			c.KeyCount = e.Count
		}
	case methodPost:
		if _, n, ok := t.parser.parseEvent(a.Body); ok {
			c.KeyCount, p.End = 1, t.redactor.RedactKey(httpkv.TrimSlash(n.key))
		}
	default:
		c.KeyCount = 1
	}
}
