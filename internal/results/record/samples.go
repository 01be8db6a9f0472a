package record

import (
	"math"
	"path/filepath"
	"time"

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
	// Metrics is nil where nothing is known. With Failure it has what the member
	// says of itself in another way, such as its database's size.
	Metrics store.Sample
}

// metricColumn is what a metric's columns are called.
var metricColumn = [store.NumMetrics]string{
	store.FsyncSeconds: "fsync", store.CommitSeconds: "commit", store.PeerRoundTripSeconds: "peer_round_trip",
	store.CPUSeconds: "cpu_seconds", store.Processors: "processors", store.ResidentBytes: "rss_bytes",
	store.LeaderChanges: "leader_changes", store.DatabaseBytes: "database_bytes",
}

// columns are those of stores.csv, with the row's metrics in the readings; what
// the row does not have is NaN there, which is written as nothing.
func (r *StoreRow) columns(readings *[store.NumMetrics]store.Reading) []column {
	all := []column{
		{"unix_seconds", (*unixTime)(&r.Time)}, {"name", &r.Name}, {"endpoint", &r.Endpoint},
		{"connect_seconds", &r.Connect}, {"connect_failure", &r.ConnectFailure}, {"answer_seconds", &r.Answer}, {"answer_failure", &r.Failure},
	}
	for metric, name := range metricColumn {
		reading, known := r.Metrics[store.Metric(metric)]
		if !known {
			reading = store.Reading{Value: math.NaN(), Count: math.NaN(), Sum: math.NaN()}
		}
		to := &readings[metric]
		*to = reading
		if store.Metric(metric).Timer() {
			all = append(all, column{name + "_count", &to.Count}, column{name + "_seconds", &to.Sum}, column{name + "_buckets", &to.Buckets})
		} else {
			all = append(all, column{name, &to.Value})
		}
	}
	return all
}

// Store records a row of stores.csv, which is there from the first on.
func (t *TrialWriter) Store(r *StoreRow) error {
	return t.do(func() (err error) {
		columns := r.columns(&[store.NumMetrics]store.Reading{})
		rows := [][]string{cells(columns)}
		if t.stores == nil {
			if t.stores, err = t.w.open.lines(filepath.Join(t.dir, storesFile)); err != nil {
				return err
			}
			rows = append([][]string{names(columns)}, rows...)
		}
		return writeRows(t.stores, rows...)
	})
}

// readStores reads the text of stores.csv, which may be anybody's. Columns that
// are not there, as in other versions, say nothing.
func readStores(b []byte) (rows []StoreRow, err error) {
	var row StoreRow
	var readings [store.NumMetrics]store.Reading
	columns := row.columns(&readings)
	blank := readings
	err = eachCSVRow(b, "file", []string{"unix_seconds", "name"}, func(r *csvRow) {
		row, readings = StoreRow{}, blank
		r.read(columns)
		for metric, reading := range readings {
			if math.IsNaN(reading.Value) && math.IsNaN(reading.Count) {
				continue
			}
			for _, part := range []*float64{&reading.Value, &reading.Count, &reading.Sum} {
				if math.IsNaN(*part) {
					*part = 0
				}
			}
			if row.Metrics == nil {
				row.Metrics = store.Sample{}
			}
			row.Metrics[store.Metric(metric)] = reading
		}
		rows = append(roomFor(rows, b), row)
	})
	if err != nil {
		return nil, err
	}
	return rows, nil
}
