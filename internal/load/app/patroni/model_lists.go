package patroni

import (
	"bytes"

	"github.com/quorumbench/quorumbench/internal/kv"

	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// lists keeps the keys of responses, or their names, until their operations end.
type lists struct {
	of      *chronicle
	answers []answer // by the operations' tags
	now     *answer  // the response that is being read
}

// answer holds the response to a read of a cluster, or to a list.
type answer struct {
	told  bool     // its keys were passed on
	found []listed // by the key's place in the cluster
}

// listed holds a key of a response.
type listed struct {
	there    bool
	cluster  int
	value    uint64
	revision int64
}

// Begin implements store.Keys.
func (l *lists) Begin(tag uint32) bool {
	for int(tag) >= len(l.answers) {
		l.answers = append(l.answers, answer{})
	}
	l.now = &l.answers[tag]
	if l.now.told = true; l.now.found == nil {
		l.now.found = make([]listed, l.of.script.PerCluster())
	}
	clear(l.now.found)
	return true
}

// Add implements store.Keys.
func (l *lists) Add(_ uint32, key, value []byte, revision int64) {
	s := l.of.script
	if s.Way == Nodes {
		l.named(key)
		return
	}
	prefix := s.prefix
	if len(key) > 0 && key[0] != '/' { // the store omits the leading slash
		prefix = bytes.TrimPrefix(prefix, []byte{'/'})
	}
	number, ok := s.Number(prefix, key)
	if !ok {
		return // another program may have left it
	}
	each := s.PerCluster()
	l.now.found[int(number)%each] = listed{true, int(number) / each, l.of.identity(number, value), revision} // #nosec G115 -- below Keys
}

// shown sets the value of a cluster's key in o, if the response has it.
func (f *listed) shown(cluster int, names bool, o *history.Op) {
	switch {
	case !f.there || f.cluster != cluster && f.cluster != nobody:
	case names:
		o.Read = history.Unseen
	default:
		o.Read, o.Mod = f.value, f.revision
	}
}

// named adds the name of a key or member. A key's name does not contain the cluster.
func (l *lists) named(name []byte) {
	if k, ok := Named(name); ok {
		l.now.found[k] = listed{there: true, cluster: nobody}
	} else if cluster, member, ok := Member(name); ok && member < l.of.script.Members {
		l.now.found[MemberKey(member)] = listed{there: true, cluster: cluster}
	}
}

// listed records the keys of a cluster from first to before behind, each as a read. A list of names
// only shows that a key exists.
func (c *chronicle) listed(cluster int, first, behind Key, ev *store.Event, o *history.Op) {
	l := &c.lists
	if o.Outcome == kv.WrongAnswer && !ev.Outcome.Failed() {
		o.Outcome = ev.Outcome // an empty list, which the verifier accepts as a response
	}
	var found []listed // no keys
	if int(ev.Tag) < len(l.answers) && l.answers[ev.Tag].told {
		l.answers[ev.Tag].told = false
		found = l.answers[ev.Tag].found
	}
	if !o.Answered() || found == nil && ev.Count != 0 {
		o.Read = history.Unseen
		c.to.Add(o)
		return
	}
	names := c.script.Way == Nodes
	if names {
		o.Kind = kv.Exists
	}
	for k := first; k < behind; k++ {
		o.Key, o.Read, o.Mod = c.script.numberOf(cluster, k), history.Absent, 0
		if found != nil {
			found[k].shown(cluster, names, o)
		}
		c.to.Add(o)
		o.Joined = true
	}
}
