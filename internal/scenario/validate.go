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
func (l *Load) problems(w keyNamer, apps []application.Application) []*Problem {
	c := checks{namer: w, apps: apps}
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
	if t := l.Target; t.Mode > kv.SingleMember || t.Mode == kv.SingleMember && t.Member < 1 {
		c.add("target", "target %s does not name a member; members are numbered from 1", t)
	}
	return c.problems
}

func (l *Load) checkMix(c *checks) {
	if len(l.Mix) == 0 {
		c.add("operation", "no operation is given; add operation: put, for example, or a mix")
	}
	for i, o := range l.Mix {
		switch {
		case o.Kind >= kv.NumKinds || o.Consistency >= kv.NumConsistencies:
			c.add("mix", "the mix has an operation that does not exist; remove it")
		case o.Kind == kv.Watch && l.Application.Name == "": // the operations of an application may include watches
			c.add("operation", "watch cannot be an operation: watchers run concurrently with a load; add watch: {watchers: 100}, for example")
		case o.Kind.Reads() && o.Consistency == kv.NoConsistency:
			c.add("consistency", "%s needs a consistency, for example linearizable or local", o.Kind)
		case !o.Kind.Reads() && o.Consistency != kv.NoConsistency:
			c.add("consistency", "consistency applies only to reads, and %s is not a read; omit the consistency", o.Kind)
		}
		if !(o.Weight >= minWeight && o.Weight <= maxWeight) {
			c.add("mix", "the weight of %s is %s, but must be from %s to %s; only the ratios of weights matter", o.label(),
				text.FormatNumber(o.Weight), text.FormatNumber(minWeight), text.FormatNumber(maxWeight))
		}
		for _, earlier := range l.Mix[:i] {
			if earlier.Kind == o.Kind && earlier.Consistency == o.Consistency {
				c.add("mix", "the mix has %s twice; merge the two entries and add up their weights", o.label())
			}
		}
	}
}

// minWeight and maxWeight are the bounds for weights. They ensure that the sum of the weights in a
// mix is finite, and that each weight is a measurable share of the sum.
const (
	minWeight = 1e-9
	maxWeight = 1e9
)

// label returns the name of the operation, followed by the consistency if there is one.
func (o Operation) label() string {
	if o.Consistency == kv.NoConsistency {
		return o.Kind.String()
	}
	return o.Kind.String() + " " + o.Consistency.String()
}

func (l *Load) checkArrival(c *checks) {
	r := l.Rate
	given := r.PerSecond != 0 || r.Percent != 0 || r.SourceTrial != ""
	switch {
	case l.Arrival >= numArrivals:
		c.add("arrival", "the arrival does not exist; choose closed, constant or poisson")
	case l.Arrival == Recorded && l.Application.Name == "":
		c.add("arrival", "the arrival \"recorded\" is only for recordings replayed with \"quorumbench traffic replay\"; choose closed, constant or poisson")
	case l.Arrival == Closed && given:
		c.add("rate", "a closed loop has no rate, because its clients send when they are free; remove <rate>, or choose constant or poisson arrivals")
	case l.Arrival == Closed:
	case !given:
		c.add("rate", "%s arrivals need a <rate> above 0", l.Arrival)
	case r.SourceTrial != "" && !(r.Percent > 0 && r.Percent <= maxPercent):
		c.add("rate", "<rate> is %s%% of %s, but must be above 0%% and at most %d%%", text.FormatNumber(r.Percent), r.SourceTrial, maxPercent)
	case r.SourceTrial == "" && !(r.PerSecond > 0):
		c.addOutOfBounds("rate", text.FormatNumber(r.PerSecond), "above 0")
	case r.PerSecond > MaxRate:
		c.add("rate", "<rate> is %s, but must be at most %d operations per second, which is more than any generator can send", text.FormatNumber(r.PerSecond), MaxRate)
	}
}

func (l *Load) checkWindow(c *checks) {
	switch {
	case l.Total > 0 && l.Duration != 0:
		c.add("total", "<duration> and <total> both determine when the window ends; give only one of them")
	case l.Total == 0 && l.Duration == 0:
		c.add("duration", "neither <duration> nor <total> determines when the window ends; give one of them, above 0")
	}
}

func (l *Load) checkKeys(c *checks) {
	if l.KeySpace < 1 || l.KeySpace > maxKeySpace {
		c.addOutOfBounds("key-space", strconv.FormatUint(l.KeySpace, 10), fmt.Sprintf("from 1 to %d keys", uint64(maxKeySpace)))
	}
	if err, ok := l.Distribution.check().(*Problem); ok {
		c.problems = append(c.problems, err)
	}
	if c.hasProblem("key-size", "value-size", "prefix", "key-space", "distribution") || l.RangeKey != nil && !l.usesKeySpace() {
		return
	}
	if l.KeySize == 0 && l.Prefix == "" {
		c.add("key-size", "<key-size> is 0 and there is no prefix, so keys would be empty; use a larger <key-size>")
	} else if room := keyCapacity(l.KeySize); room < l.KeySpace {
		c.add("key-size", "<key-size> %d allows only %s, but <key-space> is %d; use keys of at least %d B, or a smaller <key-space>",
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
		c.add("txn-keys", "<txn-keys> is %d, but the key space has only %d keys", l.TxnKeys, l.KeySpace)
	}
}

func (l *Load) checkRange(c *checks) {
	switch {
	case l.RangeKey != nil && len(l.RangeKey) == 0:
		c.add("range-key", "<range-key> is empty, but a key must have at least one byte")
	case len(l.RangeEnd) > 0 && l.RangeKey == nil:
		c.add("range-end", "<range-end> needs <range-key>, the first key of the interval")
	case len(l.RangeEnd) > 0 && bytes.Compare(l.RangeEnd, l.RangeKey) <= 0:
		c.add("range-end", "<range-end> %q is not after <range-key> %q, so the interval is empty; use a later <range-end>", l.RangeEnd, l.RangeKey)
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
		{paged && l.RangeLimit > 0, "page-size", "<page-size> and <range-limit> contradict each other; give only one of them"},
		{s.CountOnly && s.KeysOnly, "keys-only", "<keys-only> and <count-only> contradict each other; give only one of them"},
		{paged && s.Streamed, "page-size", "<page-size> and <stream> contradict each other; give only one of them"},
		{paged && s.CountOnly, "page-size", "<page-size> is for reading keys, but <count-only> reads none; give only one of them"},
		{s.Streamed && s.CountOnly, "stream", "<stream> is for reading keys, but <count-only> reads none; give only one of them"},
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
		c.add("stm.keys", "<stm.keys> is %d, but the key space has only %s", t.KeysPerTxn, text.Plural(l.KeySpace, "key"))
	}
	switch {
	case t.Isolation >= kv.NumIsolations:
		c.add("stm.isolation", "the isolation does not exist; choose c, r, s or ss")
	case t.Locker >= kv.NumLockers:
		c.add("stm.locker", "the locker does not exist; choose stm, lock-client or lock-rpc")
	case t.Locker != kv.LockNone && l.Arrival != Closed:
		c.add("stm.locker", "<stm.locker> %s makes clients wait for each other, so they cannot follow a <rate>; remove one of the two", t.Locker)
	}
}

// checkVerified rejects loads whose writes cannot be identified by their values.
func (l *Load) checkVerified(c *checks) {
	switch {
	case !l.Verify:
	case l.ValueSize < minWatchedValueSize:
		c.add("value-size", "<value-size> is %d B, but <verify> needs values of at least %d bytes, because it identifies writes by their values", l.ValueSize, minWatchedValueSize)
	}
}

func (l *Load) checkCleanup(c *checks) {
	for _, of := range []struct {
		key   string
		asked bool
	}{{"cleanup-compact", l.Cleanup.Compact}, {"cleanup-defragment", l.Cleanup.Defragment}} {
		if of.asked && !l.Cleanup.Keys {
			c.add(of.key, "<"+of.key+"> needs <cleanup>, which is not enabled; give both")
		}
	}
	switch {
	case !l.Cleanup.Keys:
	case strings.Trim(l.Prefix, "/") == "":
		c.add("prefix", "<prefix> is %q, but all keys with that prefix would be removed at the end; use a longer prefix", l.Prefix)
	case !l.usesKeySpace():
		c.add("cleanup", "<cleanup> applies only to loads with operations on the key space, and this load has no such operations; remove <cleanup>")
	}
}
