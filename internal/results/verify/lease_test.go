package verify

import (
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
)

func keepAlive(lease uint64, invoked, done, ttl int64) history.Op {
	o := history.Op{Kind: kv.KeepAlive, Written: lease, Invoked: invoked * 1e9, Done: done * 1e9, Revision: 10, ModRevision: ttl}
	if ttl == 0 {
		o.Outcome = kv.BadRequest
	}
	return o
}

// unanswered returns a keep-alive without a response.
func unanswered(o history.Op) history.Op {
	o.Outcome, o.Revision, o.ModRevision = kv.TimedOut, 0, 0
	return o
}

func TestLeases(t *testing.T) {
	for name, c := range map[string]struct {
		ops   []history.Op
		early bool
		want  Leases
		late  int64 // in seconds
	}{
		"kept alive":              {ops: []history.Op{keepAlive(1, 1, 2, 5), keepAlive(1, 4, 5, 5)}, want: Leases{Leases: 1, Renewals: 2, EndedLeases: 0}},
		"ended in time":           {ops: []history.Op{keepAlive(1, 1, 2, 5), keepAlive(1, 5, 6, 0)}, want: Leases{Leases: 1, Renewals: 1, EndedLeases: 1}},
		"ended early":             {ops: []history.Op{keepAlive(1, 1, 3, 5), keepAlive(1, 4, 5, 0), keepAlive(1, 5, 6, 0)}, early: true, want: Leases{Leases: 1, Renewals: 1, EndedLeases: 1}},
		"not answered":            {ops: []history.Op{keepAlive(1, 1, 2, 5), unanswered(keepAlive(1, 3, 8, 5)), keepAlive(1, 6, 8, 0)}, want: Leases{Leases: 1, Renewals: 1, EndedLeases: 1}, late: 2},
		"refused":                 {ops: []history.Op{keepAlive(1, 1, 2, 5), {Kind: kv.KeepAlive, Written: 1, Done: 3e9, Outcome: kv.BadRequest}}, want: Leases{Leases: 1, Renewals: 1, EndedLeases: 0}},
		"never kept alive":        {ops: []history.Op{keepAlive(1, 1, 2, 0)}, want: Leases{Leases: 1, Renewals: 0, EndedLeases: 1}},
		"another one's":           {ops: []history.Op{keepAlive(1, 1, 2, 5), keepAlive(2, 2, 3, 0)}, want: Leases{Leases: 2, Renewals: 1, EndedLeases: 1}},
		"prolonged, and not":      {ops: []history.Op{keepAlive(1, 1, 2, 2), keepAlive(1, 3, 5, 0), keepAlive(1, 4, 6, 5)}, early: true, want: Leases{Leases: 1, Renewals: 2, EndedLeases: 1}},
		"a time that cannot be":   {ops: []history.Op{keepAlive(1, 1, 2, 1<<62-1), keepAlive(1, 3, 5, 0)}, early: true, want: Leases{Leases: 1, Renewals: 1, EndedLeases: 1}},
		"the last one that lasts": {ops: []history.Op{keepAlive(1, 1, 2, 100), keepAlive(1, 2, 3, 5), keepAlive(1, 49, 50, 0)}, want: Leases{Leases: 1, Renewals: 2, EndedLeases: 1}, late: 43},
	} {
		m := line()
		m.ops = c.ops
		r, _ := checked(t, m, Options{})
		if n := r.Counts[EarlyLeaseEnd]; c.early != (n == 1) || n > 1 || r.Right() == c.early || r.Leases == nil {
			t.Fatalf("%s: %v, %+v", name, r.Counts, r.Leases)
		}
		if late := r.Leases.ExpiryDelay.Max; late < c.late*99e7 || late > c.late*101e7 || r.Leases.ExpiryDelay.P50 != late {
			t.Errorf("%s: it ended %d ns late", name, late)
		}
		if c.want.ExpiryDelay = r.Leases.ExpiryDelay; *r.Leases != c.want {
			t.Errorf("%s: %v, %+v", name, r.Counts, r.Leases)
		}
		for _, v := range r.Violations {
			if !strings.HasSuffix(v.Explanation, "Lease 1 ended before its renewed time to live had passed.") || len(v.Ops) != 2 || strings.Contains(v.Explanation, "%!") {
				t.Error(v.Explanation)
			}
		}
	}
}
