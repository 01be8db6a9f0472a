package consul

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/store/null"
)

// wakeQueries wakes the queries that wait for a change of the key.
func (w *nullQueries) wakeQueries(key string) {
	if wakes := w.byKey[key]; len(wakes) > 0 {
		delete(w.byKey, key)
		for _, wake := range wakes {
			wake()
		}
	}
	for prefix, wakes := range w.prefixes {
		if strings.HasPrefix(key, prefix) {
			delete(w.prefixes, prefix)
			for _, wake := range wakes {
				wake()
			}
		}
	}
}

func (w *nullQueries) add(queries *map[string][]func(), key string, wake func()) {
	if *queries == nil {
		*queries = map[string][]func(){}
	}
	(*queries)[key] = append((*queries)[key], wake)
}

// blockingIndex returns the index in a blocking query, or 0 if the request is not a blocking query.
func blockingIndex(r *null.HTTPRequest) int64 {
	if _, query := isCatalog(r.Path); !query && !bytes.HasPrefix(r.Path, []byte(nullPrefix)) || string(r.Method) != "GET" {
		return 0
	}
	text, waits := r.Param("index")
	if !waits {
		return 0 // the most common request; must not allocate memory
	}
	index, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return 0
	}
	return max(index, 0)
}

// maxQueryWait returns the maximum time that a blocking query waits. Consul's limit is ten minutes.
func maxQueryWait(r *null.HTTPRequest) time.Duration {
	text, _ := r.Param("wait")
	wait, err := time.ParseDuration(string(text))
	if err != nil || wait <= 0 {
		return defaultWait
	}
	return min(wait, 10*time.Minute)
}

// MayWait implements null.HTTPService.
func (m *nullMember) MayWait(r *null.HTTPRequest) bool {
	return blockingIndex(r) > 0 && m.isAdmitted(r)
}

// wait implements Wait for a query about services. Such a query waits until any service changes.
func (c *nullCatalog) wait(index int64, maxWait time.Duration, wake func()) (bool, time.Duration) {
	c.Lock(null.SingleShard)
	defer c.Unlock(null.SingleShard)
	if c.Revision() > index {
		return false, 0
	}
	c.queries.add(&c.queries.byKey, "", wake)
	return true, maxWait
}

// Wait implements null.HTTPService. If the member has no memory, nothing ever changes.
func (m *nullMember) Wait(r *null.HTTPRequest, wake func()) (waits bool, maxWait time.Duration) {
	asked := blockingIndex(r)
	if m.memory == nil {
		return asked >= 2, maxQueryWait(r)
	}
	if _, query := isCatalog(r.Path); query {
		return m.catalog.wait(asked, maxQueryWait(r), wake)
	}
	m.memory.Lock(null.SingleShard)
	defer m.memory.Unlock(null.SingleShard)
	key, index := r.Path[len(nullPrefix):], m.memory.Revision()
	_, recurse := r.Param("recurse")
	if e := m.memory.Get(key); e != nil && !recurse {
		index = e.Changed
	}
	if index > asked {
		return false, 0
	}
	if recurse {
		m.queries.add(&m.queries.prefixes, string(key), wake)
	} else {
		m.queries.add(&m.queries.byKey, string(key), wake)
	}
	return true, maxQueryWait(r)
}
