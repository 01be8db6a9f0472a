package patroni

import (
	"bytes"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// lists stores the keys, or only the names of keys, in responses until the operations end.
type lists struct {
	chronicle *chronicle
	responses []response // by the operations' tags
	current   *response  // the response that is being read
}

// response holds the response to a read of all keys in a cluster, or to a list of names.
type response struct {
	received bool        // the codec has passed the response's keys to lists
	found    []listedKey // by the key's index in the cluster
}

// listedKey holds a key from a response.
type listedKey struct {
	exists   bool
	cluster  int
	value    uint64
	revision int64
}

// Begin implements store.Keys.
func (l *lists) Begin(tag uint32) bool {
	for int(tag) >= len(l.responses) {
		l.responses = append(l.responses, response{})
	}
	l.current = &l.responses[tag]
	if l.current.received = true; l.current.found == nil {
		l.current.found = make([]listedKey, l.chronicle.script.KeysPerCluster())
	}
	clear(l.current.found)
	return true
}

// Add implements store.Keys.
func (l *lists) Add(_ uint32, key, value []byte, revision int64) {
	s := l.chronicle.script
	if s.Way == Nodes {
		l.addName(key)
		return
	}
	prefix := s.prefix
	if len(key) > 0 && key[0] != '/' { // the store omits the leading slash
		prefix = bytes.TrimPrefix(prefix, []byte{'/'})
	}
	number, ok := s.Number(prefix, key)
	if !ok {
		return // another program may have left this key
	}
	each := s.KeysPerCluster()
	l.current.found[int(number)%each] = listedKey{true, int(number) / each, l.chronicle.identity(number, value), revision} // #nosec G115 -- below Keys
}

// setRead completes o, a read of a cluster's key, with the key's value if the response contains the
// key.
func (f *listedKey) setRead(cluster int, namesOnly bool, o *history.Op) {
	switch {
	case !f.exists || f.cluster != cluster && f.cluster != none:
	case namesOnly:
		o.Read = history.UnknownValue
	default:
		o.Read, o.ModRevision = f.value, f.revision
	}
}

// addName adds the name of a key or of a member. The name of a fixed key does not contain the
// cluster.
func (l *lists) addName(name []byte) {
	if k, ok := ParseKey(name); ok {
		l.current.found[k] = listedKey{exists: true, cluster: none}
	} else if cluster, member, ok := ParseMemberName(name); ok && member < l.chronicle.script.Members {
		l.current.found[MemberKey(member)] = listedKey{exists: true, cluster: cluster}
	}
}

// recordList records a cluster's keys in the half-open interval [first, end). Each key is recorded
// as a read. A list of names shows only whether a key exists.
func (c *chronicle) recordList(cluster int, first, end Key, ev *store.Event, o *history.Op) {
	l := &c.lists
	if o.Outcome == kv.WrongResponse && !ev.Outcome.Failed() {
		o.Outcome = ev.Outcome // the list was empty, which is a response that the verifier accepts
	}
	var found []listedKey // nil: the response contains no keys
	if int(ev.Tag) < len(l.responses) && l.responses[ev.Tag].received {
		l.responses[ev.Tag].received = false
		found = l.responses[ev.Tag].found
	}
	if !o.HasStoreData() || found == nil && ev.Count != 0 {
		o.Read = history.UnknownValue
		c.recorder.Add(o)
		return
	}
	names := c.script.Way == Nodes
	if names {
		o.Kind = kv.Exists
	}
	for k := first; k < end; k++ {
		o.Key, o.Read, o.ModRevision = c.script.keyNumber(cluster, k), history.Absent, 0
		if found != nil {
			found[k].setRead(cluster, names, o)
		}
		c.recorder.Add(o)
		o.ContinuesPrevious = true
	}
}
