package consul

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
)

var _ httpkv.API = (*codec)(nil)

// This file registers service instances in the catalog. Each instance has its own node, as if
// agents on different machines had registered them
// (https://developer.hashicorp.com/consul/api-docs/catalog). The node, the instance and its check
// have the same name, which is the instance's ID.

// Register implements httpkv.API.
func (c *codec) Register(op *store.Op) {
	switch s := op.Service; op.Kind {
	case kv.Put:
		b := append(c.Head(c.Begin(c.register)), `{"Node":`...)
		b = append(appendJSON(b, op.Key), `,"Address":"10.0.0.1","SkipNodeUpdate":`...)
		b = strconv.AppendBool(b, s.CheckOnly)
		if !s.CheckOnly {
			b = append(appendJSON(append(b, `,"Service":{"ID":`...), op.Key), `,"Service":`...)
			b = append(appendJSON(b, s.Name), `,"Port":80,"Meta":{"of":`...)
			b = append(appendJSON(b, op.Value), `}}`...)
		}
		b = append(appendJSON(append(b, `,"Check":{"Node":`...), op.Key), `,"CheckID":`...)
		b = append(appendJSON(b, op.Key), `,"Name":"health","ServiceID":`...)
		b = append(appendJSON(b, op.Key), `,"Status":"`...)
		if s.Passing {
			b = append(b, "passing"...)
		} else {
			b = append(b, "critical"...)
		}
		c.Send(append(b, `"}}`...))
	case kv.Delete:
		b := append(c.Head(c.Begin(c.deregister)), `{"Node":`...)
		c.Send(append(appendJSON(b, op.Key), '}'))
	default:
		of := c.nodeServices
		if c.readsChecks = s.Passing; c.readsChecks {
			of = c.nodeChecks
		}
		b := http1.AppendPath(c.Begin(of), op.Key)
		if op.Consistency == kv.Local {
			b = append(b, "?stale"...)
		}
		c.Send(c.Head(b))
	}
}

// handleRegistered handles the response to an operation on a service instance.
func (c *codec) handleRegistered(r *http1.Response, e *store.Event) {
	switch {
	case r.Status != 200:
		e.Outcome, e.Text = c.FailureOutcome(r)
	case c.Kind != kv.Put && c.Kind != kv.Delete && c.readsChecks:
		c.parseChecks(r.Body, e)
	case c.Kind != kv.Put && c.Kind != kv.Delete:
		c.parseNode(r.Body, e)
	case isTrue(r.Body):
		e.Count = -1 // the response is true even if the instance did not exist
	default:
		c.setMalformed(e)
	}
}

// parseNode counts the services on a node: {"Node":{...},"Services":[...]}. Both values are null if
// the node does not exist.
func (c *codec) parseNode(body []byte, e *store.Event) {
	s := httpkv.NewJSONScanner(body)
	for more := s.Object(); more; {
		name, ok := s.Member()
		if !ok {
			break
		}
		if string(name) != "Services" {
			s.Skip()
			continue
		}
		if s.Null() {
			continue
		}
		if s.Array() {
			for ; s.Element(); e.Count++ {
				s.Skip()
			}
		}
	}
	if !s.End() {
		c.setMalformed(e)
	}
}

// parseChecks counts the passing checks on a node: [{"Status":"passing",...}]. The list is empty if
// the node does not exist.
func (c *codec) parseChecks(body []byte, e *store.Event) {
	s := httpkv.NewJSONScanner(body)
	for more := s.Array(); more && s.Element(); {
		for more := s.Object(); more; {
			name, ok := s.Member()
			if !ok {
				break
			}
			if string(name) != "Status" {
				s.Skip()
				continue
			}
			var status []byte
			if status, c.buf = s.String(c.buf[:0]); string(status) == "passing" {
				e.Count++
			}
		}
	}
	if !s.End() {
		c.setMalformed(e)
	}
}

// appendServiceChanges handles the list of a service's healthy instances. It reports an instance as
// new if the index of the instance or of one of its checks has changed.
func (c *codec) appendServiceChanges(body []byte, index int64, events []store.Event, failure *store.Event) []store.Event {
	w := &c.watch
	s := httpkv.NewJSONScanner(body)
	c.instances = c.instances[:0]
	for more := s.Array(); more && s.Element(); {
		var found instance
		for more := s.Object(); more; {
			name, ok := s.Member()
			if !ok {
				break
			}
			switch string(name) {
			case "Service":
				c.parseInstance(&s, &found)
			case "Checks":
				for more := !s.Null() && s.Array(); more && s.Element(); {
					var check instance
					c.parseInstance(&s, &check)
					found.mod = max(found.mod, check.mod)
				}
			default:
				s.Skip()
			}
		}
		if s.OK() && (len(found.id) == 0 || found.mod <= 0) {
			c.setWrongResponse(failure, noInstance)
			return events
		}
		c.instances = append(c.instances, found)
	}
	if !s.End() {
		c.setMalformed(failure)
		return events
	}
	slices.SortFunc(c.instances, func(a, b instance) int { return bytes.Compare(a.id, b.id) })
	at := 0
	for i := range c.instances {
		f := &c.instances[i]
		if i > 0 && bytes.Equal(f.id, c.instances[i-1].id) {
			continue // the same instance on a second node
		}
		w.nextKeys.add(f.id, f.mod)
		events, at = c.appendDeletions(events, at, f.id, index)
		news := w.isChanged(at, f.id, f.mod)
		if w.isKnownAt(at, f.id) {
			at++
		}
		if news {
			events = append(events, c.event(f.id, nil, f.mod, 1))
		}
	}
	events, _ = c.appendDeletions(events, at, nil, index)
	return events
}

const noInstance = "%s listed a service instance without an ID or index"

// parseInstance parses the ID and ModifyIndex of a service instance, or of a check.
func (c *codec) parseInstance(s *httpkv.JSONScanner, into *instance) {
	for more := s.Object(); more; {
		name, ok := s.Member()
		if !ok {
			return
		}
		switch string(name) {
		case "ID":
			into.id, c.buf = s.String(c.buf)
		case "ModifyIndex":
			into.mod = max(into.mod, s.Int())
		default:
			s.Skip()
		}
	}
}
