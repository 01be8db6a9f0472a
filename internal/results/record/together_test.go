package record

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// StartSpreadNS is the time from the start of the first worker's window until half of the workers
// had started their windows. LastToBegin returns the worker that started last.
func TestStartSpreadOfWorkers(t *testing.T) {
	for spread, began := range map[int64][]int64{4: {9, 4, 0}, 2: {0, 2, 900, 3}, 7: {7}} {
		var trial Trial
		for i, after := range began {
			trial.ByWorker = append(trial.ByWorker, ByWorker{Name: string(rune('a' + i)), StartDelayNS: after})
		}
		all := newWorkerTiming(trial.ByWorker, &measure.Totals{MergedAfter: 5})
		last := trial.LastToBegin()
		if *all.StartSpreadNS != spread || *all.StartLatestNS != last.StartDelayNS || *all.MergedAfterNS != 5 {
			t.Errorf("start delays %v: the spread is %d and the last delay is %d", began, *all.StartSpreadNS, *all.StartLatestNS)
		}
		for _, w := range trial.ByWorker {
			if w.StartDelayNS > last.StartDelayNS {
				t.Errorf("start delays %v: LastToBegin returns %s, which is not the last", began, last.Name)
			}
		}
	}
	if (newWorkerTiming(nil, &measure.Totals{MergedAfter: 5}) != WorkerTiming{}) || (&Trial{}).LastToBegin() != nil {
		t.Error("a single worker is reported as several")
	}
}
