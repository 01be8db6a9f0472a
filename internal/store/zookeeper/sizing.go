package zookeeper

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// adminGuide is the document on which the advice is based.
const adminGuide = "ZooKeeper Administrator's Guide"

// nodeBytes is the estimated number of heap bytes per node, in addition to its path and data.
const nodeBytes = 300

// setDataLen is the size in bytes of a setData request in addition to its path and data: the
// header, the length of the path, the length of the data, and the version.
const setDataLen = jute.RequestHeaderLen + 3*4

// Size implements store.Sizer.
func (*Store) Size(l store.SizingInput) ([]store.ResourceUsage, []store.Advice, error) {
	var s Settings
	if l.Settings != nil {
		if err := json.Unmarshal(l.Settings, &s); err != nil {
			return nil, nil, fmt.Errorf("cannot read the recorded settings of ZooKeeper: %w", err)
		}
	}
	data := l.Data() + nodeBytes*float64(l.Keys)
	var fills []store.ResourceUsage
	if l.Settings != nil {
		heap := heapBytes(cmp.Or(s.Heap, DefaultHeap))
		fills = append(fills, store.ResourceUsage{Resource: "Java heap", Used: data, Limit: heap, Source: adminGuide + " (Java Heap Size)",
			Explanation: fmt.Sprintf("%s nodes in memory, each with its path, its data and an estimated %d bytes of overhead, in a heap of %s; requests need additional memory", text.Count(l.Keys), nodeBytes, text.Bytes(uint64(heap)))})
	}
	heap := store.Advice{Topic: "Java heap", Source: adminGuide + " (Java Heap Size)",
		Text: "A member must not swap, because all its data is read from memory: keep the heap smaller than the machine's memory, and determine its size in load tests."}
	if l.Memory > 0 {
		heap.Text += fmt.Sprintf(" The machine with the least memory has %s; the data needs about %s.", text.Bytes(uint64(l.Memory)), text.Bytes(uint64(data)))
	}
	advice := []store.Advice{heap, {Topic: "disk", Source: adminGuide + " (Things to Avoid, Incorrect placement of transaction log)",
		Text: "A member syncs the transaction log before it acknowledges a write, so the log needs its own device (dataLogDir)."}}
	limit, size := cmp.Or(s.MaxBuffer, jute.DefaultMaxBuffer), l.KeySize+l.ValueSize+setDataLen
	if size > limit {
		advice = append(advice, store.Advice{Topic: "request size", Source: adminGuide + " (jute.maxbuffer)",
			Text: fmt.Sprintf("A request must not be larger than %s bytes (jute.maxbuffer), but the load's write requests have %s bytes: raise jute.maxbuffer on all members and clients, or use smaller values.", text.Count(uint64(limit)), text.Count(uint64(size)))})
	}
	tick := time.Duration(cmp.Or(s.TickTime, DefaultTick)) * time.Millisecond
	sync := time.Duration(cmp.Or(s.SyncLimit, defaultSyncLimit)) * tick
	words := fmt.Sprintf("A tick is %s: session timeouts may be 2 to 20 ticks, and a follower that lags by more than %s (syncLimit) is dropped.", tick, sync)
	if l.RoundTrip > 0 && l.RoundTrip > tick/2 {
		words += fmt.Sprintf(" The mean round trip between members is %s: raise tickTime, which is the unit of all timeouts.", text.Duration(float64(l.RoundTrip)))
	}
	return fills, append(advice, store.Advice{Topic: "timeouts", Text: words, Source: adminGuide + " (tickTime, syncLimit)"}), nil
}

// heapBytes parses a Java memory size, such as 512m. It returns 0 if the size is invalid.
func heapBytes(text string) float64 {
	units := map[string]float64{"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
	lower := strings.ToLower(text)
	unit := 1.0
	if n := len(lower); n > 0 && units[lower[n-1:]] > 0 {
		unit, lower = units[lower[n-1:]], lower[:n-1]
	}
	x, err := strconv.ParseFloat(lower, 64)
	if err != nil {
		return 0
	}
	return x * unit
}
