package record

import (
	"math"
	"path/filepath"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
)

// StoreRow is a row of stores.csv: the metrics of one member at one time, and the times to reach
// the member.
type StoreRow struct {
	Time     time.Time // when the response arrived, or when the request was given up
	Name     string    // the member's name
	Endpoint string
	// Connect is the time that it took to open a TCP connection to the member; 0 if none was tried
	// or ConnectFailure is set.
	Connect        time.Duration
	ConnectFailure string
	// Answer is the response time, or the time after which the request was given up; 0 if no
	// request was sent. Failure is why there is no response.
	Answer  time.Duration
	Failure string
	// Metrics is nil if no metric is known. If Failure is set, it contains the metrics that the
	// member reports in other ways, such as the size of its database.
	Metrics store.Sample
}

// metricColumn holds the names of the metrics' columns.
var metricColumn = [store.NumMetrics]string{
	store.FsyncSeconds: "fsync", store.CommitSeconds: "commit", store.PeerRoundTripSeconds: "peer_round_trip",
	store.CPUSeconds: "cpu_seconds", store.Processors: "processors", store.ResidentBytes: "rss_bytes",
	store.LeaderChanges: "leader_changes", store.DatabaseBytes: "database_bytes",
}

// columns returns the columns of stores.csv. They point into the row and, for its metrics, into
// readings. Metrics that the row lacks are NaN in readings, which is written as an empty cell.
func (r *StoreRow) columns(readings *[store.NumMetrics]store.Reading) []column {
	all := []column{
		{"unix_seconds", (*unixTime)(&r.Time)}, {"name", &r.Name}, {"endpoint", &r.Endpoint},
		{"connect_seconds", &r.Connect}, {"connect_failure", &r.ConnectFailure}, {"response_seconds", &r.Answer}, {"response_failure", &r.Failure},
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

// Store appends a row to stores.csv, which it creates with the first row.
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

// readStores parses stores.csv, which may come from an untrusted source. Metrics whose columns are
// missing, for example in files from other versions, are not known.
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
