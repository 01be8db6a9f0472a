package consul

import (
	"bytes"
	"encoding/json"

	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
)

// DecodeResponse implements httpkv.TrafficDecoder. The response to a write of one key does not
// contain the key's new index. Only responses to reads and transactions contain an index.
func (t *tap) DecodeResponse(c *call.Call, a *http1.ObservedResponse) {
	if c.Code = uint16(a.Status); a.Status == 200 { // #nosec G115 -- three digits
		c.Code = 0
	}
	switch c.Method {
	case methodGet, methodBlocking:
		if c.Revision = a.Uint(fieldIndex); a.Status == 404 {
			c.Code = 0 // the key does not exist
		} else if a.Status == 200 && a.IsComplete() {
			t.decodeRead(c, a)
		}
	case methodPut, methodDelete:
		done := string(bytes.TrimSpace(a.Body)) == "true"
		switch {
		case a.Status != 200, !a.IsComplete():
		case done:
			c.GuardsHeld, c.KeyCount = c.Guarded, 1
		case !c.Guarded: // cetcd responds "false" to a write without a condition if an error occurred
			c.Code = 500
		}
	case methodTxn:
		if a.Status == 409 && c.Guarded {
			c.Code = 0
		}
		if a.Status == 200 {
			c.GuardsHeld = c.Guarded
			t.decodeTransactionResults(c, a.Body)
		}
	case methodCreate:
		var made struct{ ID string }
		if a.Status == 200 && json.Unmarshal(a.Body, &made) == nil {
			c.Lease = t.number(made.ID)
		}
	}
}

// decodeRead parses the response to a read. The response is a JSON list or, with ?raw, the value
// itself.
func (t *tap) decodeRead(c *call.Call, a *http1.ObservedResponse) {
	p := &c.Parts[0]
	if p.Flags&call.KeysOnly != 0 {
		s := httpkv.NewJSONScanner(a.Body)
		for more := s.Array(); more && s.Element(); {
			c.KeyCount++
			s.Skip()
		}
		return
	}
	singleKey := p.Scope == call.SingleKey
	s := httpkv.NewJSONScanner(a.Body)
	t.buf = t.buf[:0]
	for more := s.Array(); more && s.Element(); {
		c.KeyCount++
		var k entry
		bufLen := len(t.buf)
		t.buf = readEntry(&s, &k, t.buf)
		switch {
		case k.index <= 0:
		case singleKey:
			c.Parts[0].Version, c.Parts[0].Value.Size = k.index, len(k.value)/4*3
		case len(c.Parts) < call.MaxParts:
			c.Parts = append(c.Parts, call.Part{Action: call.ListedKey, Key: t.redactor.RedactKey(k.key), Version: k.index})
		}
		t.buf = t.buf[:bufLen]
	}
	if singleKey && (!s.End() || c.Parts[0].Version == 0 && t.emptyCountsAsSet) { // the body is the raw value
		c.KeyCount, c.Parts[0].Version, c.Parts[0].Value.Size = 1, c.Revision, a.Size
	}
}

// decodeTransactionResults parses the response to a transaction and stores the indexes of the keys
// that it read or wrote.
func (t *tap) decodeTransactionResults(c *call.Call, body []byte) {
	var answer struct {
		Results []struct {
			KV *struct {
				Key         string
				ModifyIndex int64
			}
		}
	}
	if json.Unmarshal(body, &answer) != nil {
		return
	}
	for _, r := range answer.Results {
		if r.KV == nil || r.KV.ModifyIndex <= 0 {
			continue
		}
		c.KeyCount++
		key := t.redactor.RedactKey([]byte(r.KV.Key))
		for i := range c.Parts {
			p := &c.Parts[i]
			if p.Scope == call.SingleKey && (p.Action == call.Write || p.Action == call.Read) && bytes.Equal(p.Key, key) {
				p.Version = r.KV.ModifyIndex
			}
		}
	}
}
