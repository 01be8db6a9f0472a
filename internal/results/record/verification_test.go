package record

import (
	"math"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// The verdict reports the history's share of all bytes that were written to the members' disk.
func TestHistoryShareOfTheDisk(t *testing.T) {
	written := int64(90_000)
	for share, of := range map[float64]struct {
		shares  bool
		written *int64
	}{0.1: {true, &written}, 0: {false, &written}, -1: {true, nil}} {
		a := &Verification{Operations: 1000, Bytes: 20_000, SharesDisk: of.shares}
		a.setDiskShare(500, of.written)
		if got := measure.OrZero(a.DiskShare); math.Abs(got-max(share, 0)) > 1e-9 {
			t.Errorf("%+v has the share %g", of, got)
		}
		v := verdict.Judge(verdict.Figures{Measured: &measure.Totals{}, Merged: &measure.Cell{}, Cluster: verdict.Cluster{HistoryShare: measure.OrZero(a.DiskShare)}})
		if said := strings.Contains(strings.Join(v.Notes, " "), "10 % of the writes to the members' disk in the window"); said != (share > 0) {
			t.Errorf("%+v: the notes are %q", of, v.Notes)
		}
	}
}
