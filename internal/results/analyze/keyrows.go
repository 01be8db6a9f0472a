package analyze

import (
	"math"
	"time"
)

// MaxRows is the maximum number of rows in tables whose length depends on the length of the trial.
const MaxRows = 10_000

// nextRoundNumber returns the next value after n in the series 1, 2, 5, 10, 20, and so on.
func nextRoundNumber[T ~int64 | ~uint64](n T, step int) T {
	if step%3 == 1 {
		return n / 2 * 5
	}
	return n * 2
}

// KeyRow describes the operations that became due in several consecutive seconds. The rows show how
// latency changes while a store fills.
type KeyRow struct {
	Keys   uint64 // number of operations completed from the start of the window to the end of this row
	Count  uint64 // number of operations due in this row that completed
	Errors uint64 // number of operations due in this row that failed
	// Times of the completed operations in nanoseconds; 0 if there are none.
	Min, Mean, Max float64
	// From and To are the start and the end of the row's period.
	From, To time.Time
}

// KeyTable shows latency by the cumulative number of keys. Each row describes one or more whole
// seconds. Each row except the last has at least Bucket keys.
type KeyTable struct {
	Bucket uint64
	Rows   []KeyRow
}

// KeyBucket is the default number of keys per row. If this would result in more than MaxRows rows,
// the number per row is larger.
const KeyBucket = 1000

// Keys collects one-second intervals and groups them into a table by the cumulative number of keys.
type Keys struct{ seconds []KeyRow }

// Add adds the next one-second interval.
func (k *Keys) Add(s *Second) {
	row := KeyRow{Count: uint64(s.Times.Total()), Errors: s.Errors, From: s.Time, To: s.Time.Add(time.Second)}
	if row.Count > 0 {
		row.Min, row.Mean, row.Max = s.Times.Fastest().NS, s.Times.Mean(), s.Times.Slowest(0).NS
	}
	if row.Count+row.Errors > 0 {
		k.seconds = append(k.seconds, row)
	}
}

// Table returns the table of the intervals added so far.
func (k *Keys) Table() KeyTable {
	bucket := uint64(KeyBucket)
	rows := k.rows(bucket)
	for step := 0; len(rows) > MaxRows; step++ {
		bucket = nextRoundNumber(bucket, step)
		rows = k.rows(bucket)
	}
	return KeyTable{Bucket: bucket, Rows: rows}
}

func (k *Keys) rows(bucket uint64) []KeyRow {
	var rows []KeyRow
	var at KeyRow
	total := uint64(0)
	for i := range k.seconds {
		at.add(&k.seconds[i])
		total += k.seconds[i].Count
		if at.Count >= bucket || i == len(k.seconds)-1 {
			at.Keys = total
			rows = append(rows, at)
			at = KeyRow{}
		}
	}
	return rows
}

func (r *KeyRow) add(o *KeyRow) {
	r.Errors += o.Errors
	if r.To = o.To; r.From.IsZero() {
		r.From = o.From
	}
	switch {
	case o.Count == 0:
		return
	case r.Count == 0:
		r.Min, r.Mean, r.Max = o.Min, o.Mean, o.Max
	default:
		sum := float64(r.Count) + float64(o.Count)
		r.Mean = r.Mean*(float64(r.Count)/sum) + o.Mean*(float64(o.Count)/sum)
		r.Min, r.Max = math.Min(r.Min, o.Min), math.Max(r.Max, o.Max)
	}
	r.Count += o.Count
}
