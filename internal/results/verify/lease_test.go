package verify

import (
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/results/record"
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
		want  record.LeaseVerification
		late  int64 // in seconds
	}{
		"kept alive":              {ops: []history.Op{keepAlive(1, 1, 2, 5), keepAlive(1, 4, 5, 5)}, want: record.LeaseVerification{Leases: 1, Renewals: 2, EndedLeases: 0}},
		"ended in time":           {ops: []history.Op{keepAlive(1, 1, 2, 5), keepAlive(1, 5, 6, 0)}, want: record.LeaseVerification{Leases: 1, Renewals: 1, EndedLeases: 1}},
		"ended early":             {ops: []history.Op{keepAlive(1, 1, 3, 5), keepAlive(1, 4, 5, 0), keepAlive(1, 5, 6, 0)}, early: true, want: record.LeaseVerification{Leases: 1, Renewals: 1, EndedLeases: 1}},
		"not answered":            {ops: []history.Op{keepAlive(1, 1, 2, 5), unanswered(keepAlive(1, 3, 8, 5)), keepAlive(1, 6, 8, 0)}, want: record.LeaseVerification{Leases: 1, Renewals: 1, EndedLeases: 1}, late: 2},
		"refused":                 {ops: []history.Op{keepAlive(1, 1, 2, 5), {Kind: kv.KeepAlive, Written: 1, Done: 3e9, Outcome: kv.BadRequest}}, want: record.LeaseVerification{Leases: 1, Renewals: 1, EndedLeases: 0}},
		"never kept alive":        {ops: []history.Op{keepAlive(1, 1, 2, 0)}, want: record.LeaseVerification{Leases: 1, Renewals: 0, EndedLeases: 1}},
		"another one's":           {ops: []history.Op{keepAlive(1, 1, 2, 5), keepAlive(2, 2, 3, 0)}, want: record.LeaseVerification{Leases: 2, Renewals: 1, EndedLeases: 1}},
		"prolonged, and not":      {ops: []history.Op{keepAlive(1, 1, 2, 2), keepAlive(1, 3, 5, 0), keepAlive(1, 4, 6, 5)}, early: true, want: record.LeaseVerification{Leases: 1, Renewals: 2, EndedLeases: 1}},
		"a time that cannot be":   {ops: []history.Op{keepAlive(1, 1, 2, 1<<62-1), keepAlive(1, 3, 5, 0)}, early: true, want: record.LeaseVerification{Leases: 1, Renewals: 1, EndedLeases: 1}},
		"the last one that lasts": {ops: []history.Op{keepAlive(1, 1, 2, 100), keepAlive(1, 2, 3, 5), keepAlive(1, 49, 50, 0)}, want: record.LeaseVerification{Leases: 1, Renewals: 2, EndedLeases: 1}, late: 43},
	} {
		m := line()
		m.ops = c.ops
		r, _ := checked(t, m, Options{})
		if n := r.WrongByKind[EarlyLeaseEnd]; c.early != (n == 1) || n > 1 || (len(r.WrongByKind) == 0) == c.early || r.Leases == nil {
			t.Fatalf("%s: %v, %+v", name, r.WrongByKind, r.Leases)
		}
		delay := record.Spread{}
		if r.Leases.ExpiryDelay != nil {
			delay = *r.Leases.ExpiryDelay
		}
		if delay.Max < c.late*99e7 || delay.Max > c.late*101e7 || delay.P50 != delay.Max {
			t.Errorf("%s: the lease ended %d ns late", name, delay.Max)
		}
		if c.want.ExpiryDelay = r.Leases.ExpiryDelay; *r.Leases != c.want {
			t.Errorf("%s: %v, %+v", name, r.WrongByKind, r.Leases)
		}
		for _, v := range r.Violations {
			if !strings.HasSuffix(v.Explanation, "Lease 1 ended before its renewed time to live had passed.") || len(v.Operations) != 2 || strings.Contains(story(&v), "%!") {
				t.Error(story(&v))
			}
		}
	}
}
