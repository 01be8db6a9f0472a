package record

import (
	"math"
	"path/filepath"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
)

// StoreRow is a row of stores.csv. It holds the metrics of one member at one time, and the times
// that it took to reach the member.
type StoreRow struct {
	Time     time.Time // time at which the response arrived or the request was given up
	Name     string    // the member's name
	Endpoint string
	// ConnectTime is the time that it took to open a TCP connection to the member. It is 0 if no
	// connection was tried, or if ConnectFailure is set.
	ConnectTime    time.Duration
	ConnectFailure string
	// ResponseTime is the response time. If there was no response, it is the time after which the
	// request was given up, and Failure is the reason. ResponseTime is 0 if no request was sent.
	ResponseTime time.Duration
	Failure      string
	// Metrics is nil if no metric is known. If Failure is set, Metrics contains only metrics from
	// other sources than the response, such as the size of the member's database.
	Metrics store.Sample
}

// metricColumn holds the names of the metrics' columns. The columns of a timer begin with this
// name.
var metricColumn = [store.NumMetrics]string{
	store.FsyncSeconds: "fsync", store.CommitSeconds: "commit", store.PeerRoundTripSeconds: "peer_round_trip",
	store.CPUSeconds: "cpu_seconds", store.Processors: "processors", store.ResidentBytes: "rss_bytes",
	store.LeaderChanges: "leader_changes", store.DatabaseBytes: "database_bytes",
}

// columns returns the columns of stores.csv. The columns of metrics point into `readings`, to which
// the row's metrics are copied. The other columns point into the row. If the row lacks a metric,
// the values in `readings` are NaN, and the cells are empty.
func (r *StoreRow) columns(readings *[store.NumMetrics]store.Reading) []column {
	all := []column{
		{"unix_seconds", (*unixTime)(&r.Time)}, {"name", &r.Name}, {"endpoint", &r.Endpoint},
		{"connect_seconds", &r.ConnectTime}, {"connect_failure", &r.ConnectFailure}, {"response_seconds", &r.ResponseTime}, {"response_failure", &r.Failure},
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

// Store appends a row to stores.csv. It creates the file when it is first called.
func (t *TrialWriter) Store(r *StoreRow) error {
	return t.withLock(func() (err error) {
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

// readStores parses stores.csv, which may come from an untrusted source. If a column is missing,
// for example because another version wrote the file, its metric is not known.
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
