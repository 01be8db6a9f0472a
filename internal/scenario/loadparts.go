package scenario

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// Watch says what is watched beside a load. The watchers are created before the
// first phase, and again from where they were when a connection is lost. After
// the last write the load waits for the events of all that were acknowledged, at
// most for its timeout.
type Watch struct {
	// Watchers is how many there are in total; watcher w is on stream w modulo
	// Streams.
	Watchers int
	// Streams is how many watch streams there are in total; stream s is on
	// connection s modulo their number.
	Streams int
	// Connections is how many connections are for watchers alone; 0 puts them
	// on the load's own.
	Connections int
	// WatchedKeys: watcher w watches key w modulo so many, the first of the
	// load's key space; 0 is all of it.
	WatchedKeys uint64
	// Span is how many keys a watcher watches, from its key on, as far as the
	// key space goes; 0 means 1.
	Span   uint64
	PrevKV bool // events are to carry what was there before

	// Key, if not empty, is the one key that all watch, instead of the load's
	// keys. Its events are not timed.
	Key []byte
	// Start is the first revision wanted; 0 for what is written from now on.
	// With Expect the run finds it out.
	Start int64
	// Expect is how many events each watcher is to get of each key besides those
	// of the load's own writes: of writes before it. When all have them, the
	// load ends.
	Expect uint32
	// AtWindow creates the watchers when the measured window opens.
	AtWindow bool
}

// STM says what the kv.STM transactions of a load are, as etcd's benchmark has
// them: each reads so many different keys and writes a share of those.
type STM struct {
	Isolation    kv.Isolation
	KeysPerTxn   int
	WritePercent int // of the keys read; what is no whole key is left out
	// Locker is what keeps transactions apart. With any but kv.LockNone each client
	// needs a lease of its own, as for kv.KeepAlive.
	Locker kv.Locker
}

// DefaultSTM is that of etcd's benchmark.
func DefaultSTM() STM {
	return STM{Isolation: kv.RepeatableReads, KeysPerTxn: 1, WritePercent: 50}
}

// Compaction is done beside a load, again and again.
type Compaction struct {
	Every  time.Duration // 0: not at all
	Behind int64         // how many revisions before the present one are kept
}

// Scan says how a range is read.
type Scan struct {
	CountOnly bool  // how many keys there are, and not the keys
	KeysOnly  bool  // keys without their values
	Streamed  bool  // as a stream of answers, where the store has one
	PageSize  int64 // so many keys at a time, until all are read; 0: at once
}

// setCompact reads how the store is compacted beside the load.
func setCompact(d *draft, n *node) error {
	d.load.Compact = Compaction{Behind: DefaultBehind}
	if n.kind == scalar && n.text == noCompaction {
		d.load.Compact = Compaction{}
		return nil
	}
	if err := readEntries(d, "compact", n); err != nil {
		return err
	}
	if n.field("every") == n && !n.flag {
		return n.at.errorf("compact needs every, as in {every: 30s}")
	}
	return nil
}

const (
	// DefaultBehind is how many revisions a compaction keeps, as in etcd's
	// benchmark.
	DefaultBehind = 1000

	noCompaction = "none"
)

// scanKey is the first key that changes how ranges are read; empty if none does.
func (l *Load) scanKey() string {
	switch s := &l.Scan; {
	case s.CountOnly:
		return "count-only"
	case s.KeysOnly:
		return "keys-only"
	case s.Streamed:
		return "stream"
	case s.PageSize > 0:
		return "page-size"
	}
	return ""
}

// checkScan refuses ways of reading ranges that contradict each other.
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
