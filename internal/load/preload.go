package load

import (
	"context"
	"fmt"
	"hash/crc32"
	"math/bits"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
)

// preloadRounds is the number of passes in which the preload tries to write the keys. Each pass
// after the first writes only the keys for which the previous pass received no acceptable reply.
const preloadRounds = 3

// preload implements Worker.Preload.
func (p *plan) preload(ctx context.Context) (*Preloaded, error) {
	state, missing := &preloadState{}, newSet(p.Load.KeySpace)
	done := &state.done
	read := scenario.Operation{Kind: kv.Get, Consistency: p.store.Capabilities().Strongest(), Weight: 1}
	if err := p.sendPass(ctx, read, fullSet(p.Load.KeySpace), missing, state); err != nil {
		return nil, fmt.Errorf("the preload could not read the key space: %w", err)
	}
	write := scenario.Operation{Kind: kv.Put, Weight: 1}
	for round := 1; ; round++ {
		n := missing.count.Load()
		switch {
		case done.full():
			return nil, fmt.Errorf("more than %d keys of the key space have values that do not belong to this load; remove these keys, or use another prefix", maxReplaced)
		case n == 0:
			if p.versions != nil {
				done.Versions = p.versions.List()
			}
			return done, p.settle(ctx)
		case round > preloadRounds:
			return nil, fmt.Errorf("the preload could not write %d of %d keys", n, p.Load.KeySpace)
		}
		left := missing
		missing = newSet(p.Load.KeySpace)
		if err := p.sendPass(ctx, write, left, missing, state); err != nil {
			return nil, fmt.Errorf("the preload could not write the key space: %w", err)
		}
		done.Written += n - missing.count.Load()
	}
}

// sendPass executes one operation on each key whose number is in the set `remaining`. If a key's
// operation receives no acceptable reply, sendPass adds the key's number to the set `failed`.
func (p *plan) sendPass(ctx context.Context, operation scenario.Operation, remaining, failed *set, state *preloadState) error {
	_, err := p.repeat(ctx, operation, remaining, p.reports, func(s *source) engine.Source {
		return &preloadSource{source: s, failed: failed, operation: operation, state: state}
	})
	return err
}

// preloadSource sends one operation on each of the keys in a pass.
type preloadSource struct {
	*source
	failed    *set
	operation scenario.Operation
	state     *preloadState
}

// Fill implements engine.Source.
func (s *preloadSource) Fill(_ measure.Phase, number uint64, client uint32, op *store.Op) uint64 {
	s.failed.add(number) // removed again after an acceptable reply
	s.fill(&s.operation, number, number|preloadMark, client, op)
	return number
}

// Kind implements engine.Source.
func (s *preloadSource) Kind(measure.Phase, uint64) (kv.Kind, kv.Consistency) {
	return s.operation.Kind, s.operation.Consistency
}

// Shares implements engine.Source.
func (s *preloadSource) Shares(measure.Phase) []engine.Share {
	return []engine.Share{{Kind: s.operation.Kind, Consistency: s.operation.Consistency, Fraction: 1}}
}

// Check implements engine.Source.
func (s *preloadSource) Check(kind kv.Kind, number uint64, ev *store.Event) kv.Outcome {
	outcome := s.source.Check(kind, encodeRef(number, s.operation.Consistency), ev)
	// The value has the size of the load's values, which are too short for a checksum.
	short := outcome == kv.Unverifiable && len(ev.Value) == s.values.Size()
	switch {
	case outcome == kv.OK, short, s.state.anyValue && outcome != kv.Miss && ev.Outcome == kv.OK:
		s.failed.remove(number)
	case outcome != kv.Miss && ev.Outcome == kv.OK && kind == kv.Get:
		s.state.replace(number, ev.Value)
	}
	return outcome
}

// preloadState is the state that the loops of a preload share.
type preloadState struct {
	anyValue bool // accept any value of an existing key

	mu   sync.Mutex
	done Preloaded
}

// maxReplaced limits the number of entries in Preloaded.Replaced.
const maxReplaced = 10_000_000

// full reports whether maxReplaced was exceeded.
func (p *Preloaded) full() bool { return len(p.Replaced) > maxReplaced }

// replace records the value that a key had before the preload.
func (p *preloadState) replace(number uint64, value []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done.replace(number, value)
}

// replace records the checksum of the value that a key had before the preload.
func (p *Preloaded) replace(number uint64, value []byte) {
	if p.Replaced == nil {
		p.Replaced = map[uint64]uint32{}
	}
	if p.full() {
		return
	}
	p.Replaced[number] = crc32.ChecksumIEEE(value)
}

// replaced reports whether value has the same checksum as the key's value that the preload
// replaced.
func (p *Preloaded) replaced(number uint64, value []byte) bool {
	if p == nil || len(p.Replaced) == 0 {
		return false
	}
	sum, ok := p.Replaced[number]
	return ok && sum == crc32.ChecksumIEEE(value)
}

// set is a set of key numbers that all loops share.
type set struct {
	words []atomic.Uint64
	count atomic.Uint64
}

func newSet(n uint64) *set { return &set{words: make([]atomic.Uint64, (n+63)/64)} }

// fullSet returns the set that contains all numbers below n.
func fullSet(n uint64) *set {
	s := newSet(n)
	for i := range s.words {
		s.words[i].Store(^uint64(0))
	}
	if rest := n % 64; rest > 0 {
		s.words[len(s.words)-1].Store(1<<rest - 1)
	}
	s.count.Store(n)
	return s
}

// newSetFromWords returns the set that contains the numbers whose bits are set in words.
func newSetFromWords(words []uint64) *set {
	s := &set{words: make([]atomic.Uint64, len(words))}
	for i, w := range words {
		s.words[i].Store(w)
		s.count.Add(uint64(bits.OnesCount64(w)))
	}
	return s
}

func (s *set) add(i uint64) {
	if s.words[i/64].Or(1<<(i%64))&(1<<(i%64)) == 0 {
		s.count.Add(1)
	}
}

func (s *set) remove(i uint64) {
	if s.words[i/64].And(^uint64(1<<(i%64)))&(1<<(i%64)) != 0 {
		s.count.Add(^uint64(0))
	}
}

// snapshot returns the numbers that the set contains now.
func (s *set) snapshot() *numberList {
	words := make([]uint64, len(s.words))
	for i := range words {
		words[i] = s.words[i].Load()
	}
	return newNumberList(words)
}

// newNumberList returns the list of the numbers whose bits are set in words.
func newNumberList(words []uint64) *numberList {
	l := &numberList{words: words, countBefore: make([]uint64, 0, len(words)/listBlock+1)}
	for i, w := range words {
		if i%listBlock == 0 {
			l.countBefore = append(l.countBefore, l.count)
		}
		l.count += uint64(bits.OnesCount64(w))
	}
	return l
}

// listBlock is the number of words per block of a numberList. Each block has one count.
const listBlock = 8

// numberList is a sorted list of numbers. The list is stored as a bit set, with a count for each
// block for fast access.
//
// Example: for the numbers 1, 3 and 64, words is [0b1010, 0b1], countBefore is [0], and count is 3.
//
// Invariant: countBefore[b] is the number of bits that are set in words[:b*listBlock].
type numberList struct {
	words       []uint64
	countBefore []uint64 // for each block: how many numbers the earlier blocks contain
	count       uint64
}

// nth returns the number with index i. i must be less than count.
func (l *numberList) nth(i uint64) uint64 {
	block := sort.Search(len(l.countBefore), func(b int) bool { return l.countBefore[b] > i }) - 1
	left := i - l.countBefore[block]
	for w := block * listBlock; ; w++ {
		word := l.words[w]
		if n := uint64(bits.OnesCount64(word)); left >= n {
			left -= n
			continue
		}
		for ; left > 0; left-- {
			word &= word - 1
		}
		return uint64(w)*64 + uint64(bits.TrailingZeros64(word))
	}
}
