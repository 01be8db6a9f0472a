package patroni

import (
	"bytes"

	"github.com/quorumbench/quorumbench/internal/application/patroni"
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// lists takes the keys of the answer that is being read, or their names. Its event comes
// before another answer does: each member waits for the one that it asked for.
type lists struct {
	of    *chronicle
	tag   uint32
	told  bool     // its keys were handed out
	found []listed // by the place in the cluster
}

// listed is a key of an answer.
type listed struct {
	there    bool
	cluster  int
	value    uint64
	revision int64
}

// Begin implements store.Keys.
func (l *lists) Begin(tag uint32) bool {
	clear(l.found)
	l.tag, l.told = tag, true
	return true
}

// Add implements store.Keys.
func (l *lists) Add(_ uint32, key, value []byte, revision int64) {
	s := l.of.script
	if s.Way == patroni.Nodes {
		l.named(key)
		return
	}
	prefix := s.prefix
	if len(key) > 0 && key[0] != '/' { // as the store spells it
		prefix = bytes.TrimPrefix(prefix, []byte{'/'})
	}
	number, ok := s.Number(prefix, key)
	if !ok {
		return // others may have left it
	}
	each := s.PerCluster()
	l.found[int(number)%each] = listed{true, int(number) / each, l.of.identity(number, value), revision} // #nosec G115 -- below Keys
}

// named takes the name of a key, or of a member. A name is in the cluster that was asked for
// if it does not say another.
func (l *lists) named(name []byte) {
	if k, ok := patroni.Named(name); ok {
		l.found[k] = listed{there: true, cluster: nobody}
	} else if cluster, member, ok := patroni.Member(name); ok && member < l.of.script.Members {
		l.found[patroni.MemberKey(member)] = listed{there: true, cluster: cluster}
	}
}

// listed records what an answer says of a cluster's keys from one to another: a part for each.
// Names alone say that a key is there.
func (c *chronicle) listed(cluster int, first, behind patroni.Key, ev *store.Event, o *history.Op) {
	l := &c.lists
	if o.Outcome == kv.WrongAnswer && !ev.Outcome.Failed() {
		o.Outcome = ev.Outcome // nothing of it is there, which is an answer
	}
	told := l.told && l.tag == ev.Tag
	if l.told = false; !o.Answered() || !told && ev.Count != 0 {
		o.Read = history.Unseen
		c.to.Add(o)
		return
	}
	names := c.script.Way == patroni.Nodes
	if names {
		o.Kind = kv.Exists
	}
	for k := first; k < behind; k++ {
		o.Key, o.Read, o.Mod = c.script.numberOf(cluster, k), history.Absent, 0
		if f := &l.found[k]; told && f.there && (f.cluster == cluster || f.cluster == nobody) {
			if o.Read, o.Mod = f.value, f.revision; names {
				o.Read = history.Unseen
			}
		}
		c.to.Add(o)
		o.Joined = true
	}
}
