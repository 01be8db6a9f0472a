package httpd

import (
	"slices"
	"strings"
	"sync"
)

// Memory holds the keys of a null cluster and their newest versions, for all of
// its members. The caller locks it. Overwriting a key with a value no larger
// than before allocates nothing.
type Memory struct {
	sync.Mutex
	Index   int64 // of the last write
	entries map[string]*Entry
}

// Entry is a key that is there.
type Entry struct {
	Key              string
	Value            []byte
	Created, Changed int64 // the index of the first write, and of the last
}

// NewMemory returns a memory without keys.
func NewMemory() *Memory { return &Memory{Index: 1, entries: map[string]*Entry{}} }

// Get returns a key's entry, or nil.
func (m *Memory) Get(key []byte) *Entry { return m.entries[string(key)] }

// Put writes a key.
func (m *Memory) Put(key, value []byte) *Entry {
	m.Index++
	e := m.entries[string(key)]
	if e == nil {
		e = &Entry{Key: string(key), Created: m.Index}
		m.entries[e.Key] = e
	}
	e.Value, e.Changed = append(e.Value[:0], value...), m.Index
	return e
}

// Delete removes a key and reports whether it was there.
func (m *Memory) Delete(key []byte) bool {
	if m.entries[string(key)] == nil {
		return false
	}
	m.Index++
	delete(m.entries, string(key))
	return true
}

// List returns the entries whose keys begin with prefix, in order.
func (m *Memory) List(prefix []byte) []*Entry {
	var list []*Entry
	for k, e := range m.entries {
		if strings.HasPrefix(k, string(prefix)) {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b *Entry) int { return strings.Compare(a.Key, b.Key) })
	return list
}

// Damaged appends a value that was damaged to b: its last byte is another.
func Damaged(b, value []byte) []byte {
	b = append(b, value...)
	if len(value) > 0 {
		b[len(b)-1] ^= 1
	}
	return b
}
