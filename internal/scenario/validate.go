package scenario

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
	"github.com/quorumbench/quorumbench/internal/text"
)

// problems returns all errors in a load that Complete has completed. Messages use the names in w.
func (l *Load) problems(w words, apps []application.Application) []*Problem {
	c := checks{words: w, apps: apps}
	l.checkMix(&c)
	l.checkArrival(&c)
	l.checkWindow(&c)
	for _, p := range parameters(apps, nil) {
		p.check(&c, l)
	}
	l.checkKeys(&c)
	l.checkRange(&c)
	l.checkScan(&c)
	l.checkTxn(&c)
	l.checkSTM(&c)
	l.checkWatch(&c)
	l.checkApplication(&c)
	l.checkCleanup(&c)
	l.checkVerified(&c)
	l.checkMemory(&c)
	l.checkWorkers(&c)
	l.checkFaults(&c)
	if t := l.Target; t.Mode > kv.One || t.Mode == kv.One && t.Member < 1 {
		c.add("target", "target %s names no member; members are numbered from 1", t)
	}
	return c.found
}

func (l *Load) checkMix(c *checks) {
	if len(l.Mix) == 0 {
		c.add("operation", "no operation is given; say operation: put, for example, or give a mix")
	}
	for i, o := range l.Mix {
		switch {
		case o.Kind >= kv.NumKinds || o.Consistency >= kv.NumConsistencies:
			c.add("mix", "the mix has an operation that does not exist")
		case o.Kind == kv.Watch && l.Application.Name == "": // an application sends watches among its calls
			c.add("operation", "watch is no operation of a load: watchers run next to one; write watch: {watchers: 100}, for example")
		case o.Kind.Reads() && o.Consistency == kv.None:
			c.add("consistency", "%s needs a consistency: linearizable or local, for example", o.Kind)
		case !o.Kind.Reads() && o.Consistency != kv.None:
			c.add("consistency", "consistency is for reads, and %s is none", o.Kind)
		}
		if !(o.Weight >= minWeight && o.Weight <= maxWeight) {
			c.add("mix", "the weight of %s is %s and must be from %s to %s: weights count by their shares of the mix", o.label(),
				text.FormatNumber(o.Weight), text.FormatNumber(minWeight), text.FormatNumber(maxWeight))
		}
		for _, earlier := range l.Mix[:i] {
			if earlier.Kind == o.Kind && earlier.Consistency == o.Consistency {
				c.add("mix", "the mix has %s twice; add the weights up", o.label())
			}
		}
	}
}

// Bounds for weights. With them, the sum of the weights in a mix is finite, and each weight is a
// measurable share of it.
const (
	minWeight = 1e-9
	maxWeight = 1e9
)

// label returns the name of the operation, followed by the consistency if there is one.
func (o Operation) label() string {
	if o.Consistency == kv.None {
		return o.Kind.String()
	}
	return o.Kind.String() + " " + o.Consistency.String()
}

func (l *Load) checkArrival(c *checks) {
	r := l.Rate
	given := r.PerSecond != 0 || r.Percent != 0 || r.Of != ""
	switch {
	case l.Arrival >= numArrivals:
		c.add("arrival", "there is no such arrival; choose closed, constant or poisson")
	case l.Arrival == Recorded && l.Application.Name == "":
		c.add("arrival", "recorded arrivals are those of a recording, which quorumbench traffic replay sends again; choose closed, constant or poisson")
	case l.Arrival == Closed && given:
		c.add("rate", "a closed loop has no rate: its clients send when they are free; drop <rate>, or choose constant or poisson arrivals")
	case l.Arrival == Closed:
	case !given:
		c.add("rate", "%s arrivals need a <rate> above 0", l.Arrival)
	case r.Of != "" && !(r.Percent > 0 && r.Percent <= maxPercent):
		c.add("rate", "<rate> is %s%% of %s and must be above 0%% and at most %d%%", text.FormatNumber(r.Percent), r.Of, maxPercent)
	case r.Of == "" && !(r.PerSecond > 0):
		c.outOf("rate", text.FormatNumber(r.PerSecond), "above 0")
	case r.PerSecond > MaxRate:
		c.add("rate", "<rate> is %s and can be at most %d operations a second, more than any generator sends", text.FormatNumber(r.PerSecond), MaxRate)
	}
}

func (l *Load) checkWindow(c *checks) {
	switch {
	case l.Total > 0 && l.Duration != 0:
		c.add("total", "<duration> and <total> both bound the window; give one of them")
	case l.Total == 0 && l.Duration == 0:
		c.add("duration", "neither <duration> nor <total> bounds the window; give one of them, above 0")
	}
}

func (l *Load) checkKeys(c *checks) {
	if l.KeySpace < 1 || l.KeySpace > maxKeySpace {
		c.outOf("key-space", strconv.FormatUint(l.KeySpace, 10), fmt.Sprintf("from 1 to %d keys", uint64(maxKeySpace)))
	}
	if err, ok := l.Distribution.check().(*Problem); ok {
		c.found = append(c.found, err)
	}
	if c.wrong("key-size", "value-size", "prefix", "key-space", "distribution") || l.RangeKey != nil && !l.usesKeySpace() {
		return
	}
	if l.KeySize == 0 && l.Prefix == "" {
		c.add("key-size", "<key-size> is 0 and there is no prefix, so the key would be empty")
	} else if room := keyCapacity(l.KeySize); room < l.KeySpace {
		c.add("key-size", "<key-size> %d makes %s, but <key-space> is %d; use keys of at least %d B, or a smaller <key-space>",
			l.KeySize, text.Plural(room, "key"), l.KeySpace, neededKeySize(l.KeySpace))
	}
}

// keyCapacity returns the number of different keys that have keySize bytes after the prefix:
// keyAlphabetSize to the power of keySize, but at most the largest uint64.
func keyCapacity(keySize int) uint64 {
	n := uint64(1)
	for range keySize {
		if n > math.MaxUint64/keyAlphabetSize {
			return math.MaxUint64
		}
		n *= keyAlphabetSize
	}
	return n
}

func neededKeySize(keySpace uint64) int {
	size := 0
	for keyCapacity(size) < keySpace {
		size++
	}
	return size
}

func (l *Load) checkTxn(c *checks) {
	if l.hasKind(isTxn) && l.TxnKeys > 0 && uint64(l.TxnKeys) > l.KeySpace {
		c.add("txn-keys", "<txn-keys> is %d, and the key space has only %d keys", l.TxnKeys, l.KeySpace)
	}
}

func (l *Load) checkRange(c *checks) {
	switch {
	case l.RangeKey != nil && len(l.RangeKey) == 0:
		c.add("range-key", "<range-key> is empty, and a key has at least one byte")
	case len(l.RangeEnd) > 0 && l.RangeKey == nil:
		c.add("range-end", "<range-end> needs <range-key>, the first key of the interval")
	case len(l.RangeEnd) > 0 && bytes.Compare(l.RangeEnd, l.RangeKey) <= 0:
		c.add("range-end", "<range-end> %q is not after <range-key> %q, so the interval is empty", l.RangeEnd, l.RangeKey)
	}
}

// checkScan rejects settings for ranges that contradict each other.
func (l *Load) checkScan(c *checks) {
	s := &l.Scan
	paged := s.PageSize > 0
	for _, of := range []struct {
		both      bool
		key, text string
	}{
		{paged && l.RangeLimit > 0, "page-size", "<page-size> and <range-limit> contradict each other; give one of them"},
		{s.CountOnly && s.KeysOnly, "keys-only", "<keys-only> and <count-only> contradict each other; give one of them"},
		{paged && s.Streamed, "page-size", "<page-size> and <stream> contradict each other; give one of them"},
		{paged && s.CountOnly, "page-size", "<page-size> reads keys and <count-only> does not; give one of them"},
		{s.Streamed && s.CountOnly, "stream", "<stream> reads keys and <count-only> does not; give one of them"},
	} {
		if of.both {
			c.add(of.key, of.text)
		}
	}
}

func (l *Load) checkSTM(c *checks) {
	if !l.hasKind(isSTM) {
		return
	}
	t := l.STM
	if t.KeysPerTxn > 0 && uint64(t.KeysPerTxn) > l.KeySpace {
		c.add("stm.keys", "<stm.keys> is %d, and the key space has only %s", t.KeysPerTxn, text.Plural(l.KeySpace, "key"))
	}
	switch {
	case t.Isolation >= kv.NumIsolations:
		c.add("stm.isolation", "there is no such isolation; choose c, r, s or ss")
	case t.Locker >= kv.NumLockers:
		c.add("stm.locker", "there is no such locker; choose stm, lock-client or lock-rpc")
	case t.Locker != kv.LockNone && l.Arrival != Closed:
		c.add("stm.locker", "<stm.locker> %s makes clients wait for each other, so they cannot follow a <rate>; drop one of them", t.Locker)
	}
}

// checkVerified rejects loads whose writes cannot be identified by their values.
func (l *Load) checkVerified(c *checks) {
	switch {
	case !l.Verify:
	case l.ValueSize < leastWatchedValue:
		c.add("value-size", "<value-size> is %d B, and the value identifies the write of a response, for which <verify> needs %d bytes", l.ValueSize, leastWatchedValue)
	}
}

func (l *Load) checkCleanup(c *checks) {
	for _, of := range []struct {
		key   string
		asked bool
	}{{"cleanup-compact", l.Cleanup.Compact}, {"cleanup-defragment", l.Cleanup.Defragment}} {
		if of.asked && !l.Cleanup.Keys {
			c.add(of.key, "<"+of.key+"> follows <cleanup>, which is not asked for; give both")
		}
	}
	switch {
	case !l.Cleanup.Keys:
	case strings.Trim(l.Prefix, "/") == "":
		c.add("prefix", "<prefix> is %q, and everything with that prefix is removed in the end: give a longer one", l.Prefix)
	case !l.usesKeySpace():
		c.add("cleanup", "<cleanup> is for operations on the key space, and this load has none")
	}
}
