package figures

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

func FuzzSlots(f *testing.F) {
	watch := &measure.SlotDetail{}
	watch.CountEvent(250e6, 7e6)
	watch.AddLeaseEnd(9, true, 5e6)
	watch.AddWait(3, 200e6, 8e6)
	watch.CountSuccess(&measure.Series{Kind: kv.Get, Consistency: kv.Local, Member: 7}, 9e6)
	watch.CountFailure(kv.Put, kv.TimedOut, 9e6, 5e9)
	var whole []byte
	for i, s := range []measure.Second{{}, {SlotDetail: watch}} {
		s.Index = i
		line, err := json.Marshal(measure.NewWindowSecond(&s, measure.Figure{NS: 5, Known: true}))
		if err != nil {
			f.Fatal(err)
		}
		whole = append(append(whole, line...), '\n')
	}
	add := func(b []byte) { f.Add(b, 0.5, 1.5, 1.0, true) }
	add(whole)
	add(whole[:len(whole)/2])
	f.Add(whole, 0.5, 1.5, 1e300, true)
	f.Add(whole, 1.5, 0.5, -1e300, false)
	add([]byte(`{"second":0,"completed":"` + strings.Repeat("f", 250) + `","clients":9000000000000000000}` + "\n"))
	add([]byte(`{"second":0,"successes":[1],"groups":[{"operation":"put","member":"g"}]}` + "\n"))
	add([]byte(`{"second":0,"watch":{"late":[{"slot":255,"class":255,"count":1}]},"waits":[{"client":1,"end_ms":4294967295}]}` + "\n"))
	f.Fuzz(func(t *testing.T, b []byte, first, second, healed float64, open bool) {
		c, err := record.ParseSlots(bytes.NewReader(b))
		if err != nil && strings.ContainsAny(err.Error(), "\n\x00\x1b") {
			t.Errorf("%q is not one line of text", err)
		}
		if err != nil || !(first >= 0 && second >= 0) || math.IsNaN(healed) {
			return
		}
		faults := []record.Fault{{BeganAt: &first, HealedAt: &healed}, {BeganAt: &second, RecoveredAt: &healed}}
		window := float64(len(c.P99))
		findOutages(faults, &c.Completed, window)
		findRecovery(faults, c, window, open, func(member uint64) string { return record.ID(member).String() })
		for i := range faults {
			if _, err := json.Marshal(faults[i].Recovery); err != nil {
				t.Error(err)
			}
		}
	})
}
