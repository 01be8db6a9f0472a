package check

import (
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/run/probe"
	"github.com/quorumbench/quorumbench/internal/store"
)

// The measurement that etcd's documentation makes with fio: 22 MiB in records
// of 2,300 bytes.
const (
	DiskRecord   = 2300
	DiskSize     = 22 << 20
	DiskDuration = time.Minute // at most
)

// DiskOpinion is what a store makes of a disk.
type DiskOpinion struct {
	Store string
	Pass  bool
	// Known is false where so few syncs were made that the percentile of the
	// rule is not known, and where nothing was synced. It does not pass then.
	Known  bool
	Figure float64 // seconds
	Rule   kv.DiskRule
	Text   string
}

// Opine holds the time of a sync to a store's rule; ok is false when the store
// has none. On a file system that is not durable none holds. It is a pure function.
func Opine(st store.Store, r probe.LogResult) (o DiskOpinion, ok bool) {
	rule := st.Capabilities().Disk
	if rule == nil {
		return o, false
	}
	o = DiskOpinion{Store: st.Name(), Rule: *rule}
	if !r.Durable {
		o.Text = r.FileSystem + " keeps nothing at power loss, so that no acknowledged write is safe there"
		return o, true
	}
	what, figure := "the longest", r.Sync.Max
	if o.Rule.Percentile < 100 {
		what, figure = fmt.Sprintf("the p%g", o.Rule.Percentile), r.Sync.At(o.Rule.Percentile)
	}
	o.Known = figure.Known
	if !o.Known {
		o.Text = fmt.Sprintf("%s of so few records is not known", what)
		return o, true
	}
	o.Figure = figure.NS / 1e9
	o.Pass = figure.NS < float64(o.Rule.Limit)
	is := "below"
	if !o.Pass {
		is = "not below"
	}
	o.Text = fmt.Sprintf("%s is %s, %s %s: %s", what, measure.Duration(figure.NS), is, measure.Duration(float64(o.Rule.Limit)), o.Rule.Source)
	return o, true
}
