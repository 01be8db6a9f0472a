package analyze

import (
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// watchDistributions are the times of watching, as distributions are.
func watchDistributions() map[string]metric {
	times := func(of func(*record.Watched) record.Times, lost bool) func(*record.Trial) (record.Times, uint64) {
		return func(t *record.Trial) (record.Times, uint64) {
			switch {
			case t.Watch == nil:
				return record.Times{}, 0
			case lost:
				return of(t.Watch), t.Watch.Lost
			}
			return of(t.Watch), 0
		}
	}
	hlog := func(time record.Time) func(*record.Trial) record.Time {
		return func(*record.Trial) record.Time { return time }
	}
	return map[string]metric{
		"watch": {needs: timedEvents(), sample: ofEvents(), hlog: hlog(record.WatchDue),
			times: times(func(w *record.Watched) record.Times { return w.FromDue }, true)},
		"watch-sent": {needs: timedEvents(), sample: ofEvents(), hlog: hlog(record.WatchSent),
			times: times(func(w *record.Watched) record.Times { return w.FromSent }, true)},
		"watch-creation": {needs: watchers(), sample: ofWatchers(), hlog: hlog(record.WatchMade),
			times: times(func(w *record.Watched) record.Times { return w.Creation }, false)},
	}
}

// watchMetrics are the counts of watching: those of lost, duplicated and
// reordered events are of the whole load, its warm-up included.
func watchMetrics() map[string]metric {
	const unknown = "nothing is recorded of its watchers"
	all := map[string]metric{
		"watch-events": {unit: asRate, needs: watchers(), of: func(t *record.Trial) (float64, string) {
			if t.Watch == nil {
				return 0, unknown
			}
			return t.Watch.PerSecond, ""
		}},
	}
	for name, of := range map[string]func(*record.Watched) uint64{
		"watch-expected":     func(w *record.Watched) uint64 { return w.Expected },
		"watch-delivered":    func(w *record.Watched) uint64 { return w.Delivered },
		"watch-lost":         func(w *record.Watched) uint64 { return w.Lost },
		"watch-duplicated":   func(w *record.Watched) uint64 { return w.Duplicated },
		"watch-reordered":    func(w *record.Watched) uint64 { return w.Reordered },
		"watch-resubscribed": func(w *record.Watched) uint64 { return w.Resubscribed },
		"watch-ended":        func(w *record.Watched) uint64 { return w.Ended },
	} {
		all[name] = metric{unit: asCount, needs: watchers(),
			of: func(t *record.Trial) (float64, string) {
				if t.Watch == nil {
					return 0, unknown
				}
				return float64(of(t.Watch)), ""
			},
			share: func(t *record.Trial) (float64, string) {
				switch {
				case t.Watch == nil:
					return 0, unknown
				case t.Watch.Expected == 0:
					return 0, "no event was expected"
				}
				return float64(of(t.Watch)) / float64(t.Watch.Expected), ""
			},
		}
	}
	return all
}

// counts reports whether a histogram of latency.hlog is part of a distribution:
// those of the window, and the watchers' creation whenever it was.
func counts(tag record.Tag, of record.Time) bool {
	return tag.Time == of && (tag.Phase == measure.Measured || of == record.WatchMade)
}
