package consul

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
)

// resourceGuide is the document on which the advice is based.
const resourceGuide = "Consul documentation, Server resource requirements"

// The recommendations in resourceGuide for production servers.
const (
	recommendedProcessors = 8
	recommendedMemory     = 32e9
	recommendedIOPS       = 7500
	maxRoundTrip          = 50 * time.Millisecond // on average
	minMemoryPerByte      = 2                     // bytes of memory per byte of data
	maxMemoryPerByte      = 4
	defaultMaxValue       = 512 << 10
)

// Size implements store.Sizer.
func (*Store) Size(l store.SizingInput) ([]store.ResourceUsage, []store.Advice, error) {
	var s Settings
	if l.Settings != nil {
		if err := json.Unmarshal(l.Settings, &s); err != nil {
			return nil, nil, fmt.Errorf("cannot parse the recorded settings of Consul: %w", err)
		}
	}
	var fills []store.ResourceUsage
	data := l.Data()
	if l.Memory > 0 {
		fills = append(fills, store.ResourceUsage{Resource: "memory for data", Used: maxMemoryPerByte * data, Limit: l.Memory, Source: resourceGuide + " (Memory requirements)",
			Explanation: fmt.Sprintf("Consul needs %d to %d times as much memory as data (%s); the smallest machine has %s", minMemoryPerByte, maxMemoryPerByte, text.Bytes(uint64(data)), text.Bytes(uint64(l.Memory)))})
	}
	hardware := fmt.Sprintf("A production server needs at least %d processors, %s of memory and a disk that can do %s I/O operations per second", recommendedProcessors, text.Bytes(recommendedMemory), text.Count(recommendedIOPS))
	if l.Processors > 0 && l.Memory > 0 {
		hardware += fmt.Sprintf("; the smallest machine here has %g processors and %s", l.Processors, text.Bytes(uint64(l.Memory)))
	}
	advice := []store.Advice{{Topic: "hardware", Text: hardware + ".", Source: resourceGuide + " (Hardware requirements)"}}
	if most := cmp.Or(s.KVMaxValueSize, defaultMaxValue); l.ValueSize > most {
		advice = append(advice, store.Advice{Topic: "value size", Source: "Consul documentation, Agent configuration (kv_max_value_size)",
			Text: fmt.Sprintf("The maximum size of a value is %s, but the size of the load's values is %s.", text.Bytes(uint64(most)), text.Bytes(uint64(l.ValueSize)))})
	}
	if l.Members > 1 && l.RoundTrip > 0 {
		words := fmt.Sprintf("The mean round-trip time between servers is %s", text.Duration(float64(l.RoundTrip)))
		if l.RoundTrip < maxRoundTrip {
			words += fmt.Sprintf(", which is within the recommended average of %s.", maxRoundTrip)
		} else {
			words += fmt.Sprintf("; it should be below %s on average.", maxRoundTrip)
		}
		advice = append(advice, store.Advice{Topic: "round trip", Text: words, Source: resourceGuide + " (Hardware requirements)"})
	}
	if l.Settings != nil {
		multiplier := cmp.Or(s.RaftMultiplier, DefaultRaftMultiplier)
		words := fmt.Sprintf("raft_multiplier is %d; Consul recommends 1 for production and the default of 5 for the smallest machines.", multiplier)
		advice = append(advice, store.Advice{Topic: "election timeout", Text: words, Source: resourceGuide + " (Production server requirements)"})
	}
	return fills, advice, nil
}
