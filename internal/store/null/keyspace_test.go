package null

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
)

func names[T any](list []*Entry[T]) (keys []string) {
	for _, e := range list {
		keys = append(keys, e.Key)
	}
	return keys
}

// TestSpaceIsASortedMap compares a space with a sorted map during random writes, removals and
// listings of intervals.
func TestSpaceIsASortedMap(t *testing.T) {
	for _, shards := range []int{1, MaxShards} {
		r := rand.New(rand.NewPCG(1, uint64(shards)))
		s, want := NewSpace[struct{}](shards, 1), map[string]int64{}
		s.Lock(s.AllShards())
		for range 20_000 {
			key := fmt.Sprint(r.IntN(300))
			switch r.IntN(8) {
			case 0, 1, 2:
				e := s.Entry([]byte(key))
				e.Set([]byte(key), s.NextRevision())
				if want[key]++; e.Version != want[key] || e.Changed != s.Revision() || e.Created > e.Changed {
					t.Fatalf("the entry after the put is %+v, want version %d", e, want[key])
				}
			case 3, 4:
				if e := s.Get([]byte(key)); (e != nil) != (want[key] > 0) {
					t.Fatalf("%s: %v", key, e)
				} else if e != nil {
					s.Remove(e)
				}
				delete(want, key)
			case 5:
				from, end := key, fmt.Sprint(r.IntN(300))
				if r.IntN(3) == 0 {
					end = ""
				}
				keys := slices.Sorted(maps.Keys(want))
				keys = slices.DeleteFunc(keys, func(k string) bool { return k < from || end != "" && k >= end })
				if got := names(s.Interval([]byte(from), []byte(end))); !slices.Equal(got, keys) {
					t.Fatalf("Interval(%q, %q) returned %q, want %q", from, end, got, keys)
				}
			case 6:
				keys := slices.Sorted(maps.Keys(want))
				keys = slices.DeleteFunc(keys, func(k string) bool { return !strings.HasPrefix(k, key) })
				if got := names(s.Prefixed([]byte(key))); !slices.Equal(got, keys) {
					t.Fatalf("with %q begin %q, want %q", key, got, keys)
				}
			case 7:
				for _, e := range s.Prefixed([]byte(key)) { // remove while reading the result
					s.Remove(e)
					delete(want, e.Key)
				}
			}
		}
		s.Unlock(s.AllShards())
	}
}

// TestPutAndDelete checks that each call of Put or Delete uses a new revision.
func TestPutAndDelete(t *testing.T) {
	s := NewSpace[struct{}](1, 1)
	for _, k := range []string{"b", "a/2", "a/1", "c"} {
		s.Put([]byte(k), []byte("v"))
	}
	e := s.Put([]byte("b"), []byte("w"))
	if e.Created != 2 || e.Changed != 6 || string(s.Get([]byte("b")).Value) != "w" {
		t.Errorf("%+v", e)
	}
	if list := s.Prefixed([]byte("a/")); len(list) != 2 || list[0].Key != "a/1" {
		t.Errorf("%v", list)
	}
	if !s.Delete([]byte("b")) || s.Delete([]byte("b")) || s.Get([]byte("b")) != nil || s.Revision() != 7 {
		t.Error("Delete did not remove the key exactly once")
	}
}

// TestRemovedKeysAreNotKept checks that the space does not keep entries that were removed before an
// interval was ever listed.
func TestRemovedKeysAreNotKept(t *testing.T) {
	s := NewSpace[struct{}](1, 1)
	for i := range 10_000 {
		e := s.Entry(fmt.Append(nil, i))
		e.Set(nil, s.NextRevision())
		s.Remove(e)
	}
	if n := len(s.shards[0].added); n > maxStaleAdded+2 {
		t.Errorf("the index keeps %d entries of deleted keys", n)
	}
}

// TestShardsAreIndependent runs writers for different keys and readers for all keys concurrently.
func TestShardsAreIndependent(t *testing.T) {
	s := NewSpace[struct{}](MaxShards, 1)
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			for i := range 1000 {
				key := fmt.Appendf(nil, "%d/%d", w, i%50)
				set := s.ShardSet(key)
				if i%100 == 0 {
					set = s.AllShards()
				}
				s.Lock(set)
				s.Entry(key).Set(key, s.NextRevision())
				if set == s.AllShards() && len(s.Prefixed(fmt.Appendf(nil, "%d/", w))) == 0 {
					t.Error("a written key is missing")
				}
				s.Unlock(set)
			}
		})
	}
	all.Wait()
	s.Lock(s.AllShards())
	defer s.Unlock(s.AllShards())
	if n := len(s.Interval(nil, nil)); n != 400 || s.Revision() != 8001 {
		t.Errorf("%d keys at revision %d", n, s.Revision())
	}
}

func BenchmarkOverwrite(b *testing.B) {
	s, key, value := NewSpace[struct{}](MaxShards, 1), []byte("12345678"), make([]byte, 256)
	b.ReportAllocs()
	for b.Loop() {
		set := s.ShardSet(key)
		s.Lock(set)
		s.Entry(key).Set(value, s.NextRevision())
		s.Unlock(set)
	}
}

// BenchmarkListAfterWrite adds one key to 100,000 keys and then lists the keys with its prefix, as
// a lock does.
func BenchmarkListAfterWrite(b *testing.B) {
	s := NewSpace[struct{}](1, 1)
	for i := range 100_000 {
		s.Entry(fmt.Appendf(nil, "key/%06d", i)).Set(nil, s.NextRevision())
	}
	key, folder := []byte("key/050000/lock"), []byte("key/050000/")
	b.ReportAllocs()
	for b.Loop() {
		s.Entry(key).Set(nil, s.NextRevision())
		for _, e := range s.Prefixed(folder) {
			s.Remove(e)
		}
	}
}
