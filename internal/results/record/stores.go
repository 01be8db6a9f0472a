package record

import (
	"bytes"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/printable"
	"github.com/quorumbench/quorumbench/internal/store"
)

// StoreRow is a row of stores.csv: what one member reported of itself at one
// time, and how it was reached.
type StoreRow struct {
	Time     time.Time // when its answer was there, or was awaited no longer
	Name     string    // the member's
	Endpoint string
	// Connect is how long its system took to accept a TCP connection; 0 where
	// none was tried, or with ConnectFailure.
	Connect        time.Duration
	ConnectFailure string
	// Answer is how long its answer took, or was awaited; 0 where it was not
	// asked. Failure says why there is none.
	Answer  time.Duration
	Failure string
	Metrics store.Sample // nil without an answer
}

// storeColumns are the columns of a row that are no metric's.
var storeColumns = []string{"unix_seconds", "name", "endpoint", "connect_seconds", "connect_failure", "answer_seconds", "answer_failure"}

// metricColumn is what a metric's columns are called.
var metricColumn = [store.NumMetrics]string{
	store.FsyncSeconds: "fsync", store.CommitSeconds: "commit", store.PeerRoundTripSeconds: "peer_round_trip",
	store.CPUSeconds: "cpu_seconds", store.Processors: "processors", store.ResidentBytes: "rss_bytes",
	store.LeaderChanges: "leader_changes", store.DatabaseBytes: "database_bytes",
}

// timerColumns are what a timer's columns end in.
var timerColumns = [...]string{"_count", "_seconds", "_buckets"}

func storeHeader() []string {
	head := append([]string(nil), storeColumns...)
	for metric, name := range metricColumn {
		if !store.Metric(metric).Timer() {
			head = append(head, name)
			continue
		}
		for _, end := range timerColumns {
			head = append(head, name+end)
		}
	}
	return head
}

func (r *StoreRow) cells() []string {
	row := []string{
		strconv.FormatFloat(float64(r.Time.UnixMilli())/1e3, 'f', 3, 64), printable.Cell(r.Name), printable.Cell(r.Endpoint),
		length(r.Connect), printable.Cell(r.ConnectFailure), length(r.Answer), printable.Cell(r.Failure),
	}
	for metric := range store.NumMetrics {
		reading, known := r.Metrics[metric]
		switch {
		case !metric.Timer() && known:
			row = append(row, amount(reading.Value))
		case !metric.Timer():
			row = append(row, "")
		case known:
			row = append(row, amount(reading.Count), amount(reading.Sum), buckets(reading.Buckets))
		default:
			row = append(row, "", "", "")
		}
	}
	return row
}

func length(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return strconv.FormatFloat(d.Seconds(), 'f', 6, 64)
}

// amount is a number that a member reported; empty for what cannot be one.
func amount(x float64) string {
	if !possible(x) {
		return ""
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// possible reports whether a member can have counted, timed or held so much.
func possible(x float64) bool { return x >= 0 && x < mostCounted }

// maxBuckets is far above what a store's timers have.
const maxBuckets = 64

// buckets are written as upper bounds, each with how many times were not above
// it: 0.001:90 0.002:100 +Inf:100.
func buckets(all []store.Bucket) string {
	if len(all) > maxBuckets {
		return ""
	}
	var b []byte
	for i, one := range all {
		if !(one.Upper >= 0) || !possible(one.Count) || // neither is a number else
			i > 0 && (one.Upper <= all[i-1].Upper || one.Count < all[i-1].Count) {
			return ""
		}
		if len(b) > 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendFloat(b, one.Upper, 'g', -1, 64)
		b = append(b, ':')
		b = strconv.AppendFloat(b, one.Count, 'f', -1, 64)
	}
	return string(b)
}

// Store records a row of stores.csv, which is there from the first on.
func (t *TrialWriter) Store(r *StoreRow) error {
	return t.do(func() (err error) {
		rows := [][]string{r.cells()}
		if t.stores == nil {
			if t.stores, err = t.w.open.lines(filepath.Join(t.dir, storesFile)); err != nil {
				return err
			}
			rows = append([][]string{storeHeader()}, rows...)
		}
		return writeRows(t.stores, rows...)
	})
}

// readStores reads the text of stores.csv, which may be anybody's. Columns that
// are not there, as in other versions, say nothing.
func readStores(b []byte) (rows []StoreRow, err error) {
	err = eachCSVRow(bytes.NewReader(b), "file", []string{"unix_seconds", "name"}, func(r *csvRow) { rows = append(rows, storeRow(r)) })
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// The most that times in the file can be, in seconds: what time.Time and
// time.Duration hold, with room for sums.
const (
	maxUnix = 1 << 40
	maxSpan = 1 << 30
)

func storeRow(r *csvRow) StoreRow {
	span := func(name string) time.Duration { return time.Duration(1e9 * r.below(name, maxSpan)) }
	row := StoreRow{
		Time: time.UnixMilli(int64(math.Round(1e3 * r.below("unix_seconds", maxUnix)))).UTC(), Name: r.text("name"), Endpoint: r.text("endpoint"),
		Connect: span("connect_seconds"), ConnectFailure: r.text("connect_failure"),
		Answer: span("answer_seconds"), Failure: r.text("answer_failure"),
	}
	for metric := range store.NumMetrics {
		reading, known := metricReading(r, metric)
		if known {
			if row.Metrics == nil {
				row.Metrics = store.Sample{}
			}
			row.Metrics[metric] = reading
		}
	}
	return row
}

func metricReading(r *csvRow, metric store.Metric) (reading store.Reading, known bool) {
	name := metricColumn[metric]
	if !metric.Timer() {
		reading.Value = r.number(name)
		return reading, r.field(name) != ""
	}
	reading.Count, reading.Sum = r.number(name+timerColumns[0]), r.number(name+timerColumns[1])
	reading.Buckets = readBuckets(r, name+timerColumns[2])
	return reading, r.field(name+timerColumns[0]) != ""
}

func readBuckets(r *csvRow, name string) (all []store.Bucket) {
	for _, one := range strings.Fields(r.field(name)) {
		bound, times, _ := strings.Cut(one, ":")
		upper, wrong := strconv.ParseFloat(bound, 64)
		count, err := strconv.ParseFloat(times, 64)
		last := len(all) - 1
		if wrong != nil || err != nil || !(upper >= 0) || !possible(count) || len(all) == maxBuckets ||
			last >= 0 && (upper <= all[last].Upper || count < all[last].Count) {
			r.fail(name, "a list of rising bounds and counts")
			return nil
		}
		all = append(all, store.Bucket{Upper: upper, Count: count})
	}
	return all
}
