package analyze

import (
	"math"

	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Unfair describes how unevenly the clients of a closed loop were served. It is reported only if
// the difference matters and chance cannot explain it.
type Unfair struct {
	Fairness figures.Value // Jain's fairness index
	Clients  int
	// Tenth is one tenth of the number of clients. TenthShare is the share of all operations that
	// the slowest tenth of the clients completed. FairShare is what their share would be if all
	// clients were served evenly. Lagging is set if this tenth was served unfairly.
	Tenth                 int
	TenthShare, FairShare figures.Value
	Lagging               bool
	// Starved is the number of clients that completed less than a tenth of the median client's
	// operations. It is 0 if chance can explain so few operations.
	Starved int
	// Members lists the members whose clients completed fewer operations than the clients of the
	// other members.
	Members []UnfairMember
}

// UnfairMember is a member whose clients completed fewer operations than the other clients.
type UnfairMember struct {
	Name    string
	Clients int
	// OperationsPerClient is the mean number of operations per client of this member.
	// OthersPerClient is the mean number per client of the other members.
	OperationsPerClient, OthersPerClient figures.Value
}

// Thresholds for uneven service.
const (
	// unfairRatio limits the reports to large differences: a group of clients is reported only if
	// its actual share is at most unfairRatio times its fair share.
	unfairRatio = 0.75
	// unfairErrors limits the reports to differences that chance cannot explain: the deficit of a
	// group must exceed this number of standard errors. starvedErrors is the corresponding number
	// for a single client. It is larger because there may be thousands of clients.
	unfairErrors  = 4
	starvedErrors = 8
	// minPerClient is the mean number of operations per client that is needed to estimate the
	// effect of chance.
	minPerClient = 30
)

// UnfairnessOf checks whether the clients of a closed loop were served evenly. It returns false if
// they were, or if the operations per client were not recorded.
//
// Clients that are served evenly do not complete exactly the same number of operations. Let W be
// the mean time of a client's operations, and S the standard deviation of the time. The number of
// completed operations is a renewal process. Over m operations, the standard deviation of this
// number is about S/W √m (Cox 1962, Renewal Theory, 3.3). An operation at either end of the window
// may or may not be included. W is computed as the total time of all clients divided by the number
// of due operations. An operation in flight at the start of the window still needs, on average,
// about as much time as it has already taken.
func UnfairnessOf(t *record.Trial) (u Unfair, ok bool) {
	b := t.ByClient
	if !HasFigures(t) || b == nil || b.Count < 2 || b.TenthShare == nil || t.Due == 0 || t.StddevNS == nil || t.Seconds <= 0 {
		return u, false
	}
	each, window := float64(t.Due)/float64(b.Count), t.Seconds*1e9
	if each < minPerClient {
		return u, false
	}
	chance := math.Hypot(math.Hypot(*t.StddevNS/(window/each)/math.Sqrt(each), 1/each), float64(t.OldestInFlightAgeNS)/window)
	figure := figures.Registered("fairness")
	u = Unfair{Fairness: figure.Value(t), Clients: b.Count, Tenth: b.Tenth,
		TenthShare: shareValue(*b.TenthShare), FairShare: shareValue(float64(b.Tenth) / float64(b.Count))}
	less := func(ratio, errors float64) bool { return ratio <= unfairRatio && 1-ratio > errors }
	u.Lagging = less(u.TenthShare.Number/u.FairShare.Number, unfairErrors*chance)
	if starvedErrors*chance < 1-record.Starved {
		u.Starved = b.Starved
	}
	u.Members = unfairMembers(t.ByMember, func(ratio float64, own, others int) bool {
		return less(ratio, unfairErrors*chance*math.Sqrt(1/float64(own)+1/float64(others)))
	})
	return u, u.Lagging || u.Starved > 0 || len(u.Members) > 0
}

// unfairMembers returns the members whose clients completed fewer operations than the clients of
// the other members.
func unfairMembers(all []record.ByMember, less func(ratio float64, own, others int) bool) (unfair []UnfairMember) {
	clients, done := 0, 0.0
	for i := range all {
		if c := all[i].Clients; c != nil {
			clients, done = clients+c.Count, done+c.Mean*float64(c.Count)
		}
	}
	for i := range all {
		c := all[i].Clients
		if c == nil || c.Count == clients {
			continue
		}
		others := (done - c.Mean*float64(c.Count)) / float64(clients-c.Count)
		if others > 0 && less(c.Mean/others, c.Count, clients-c.Count) {
			unfair = append(unfair, UnfairMember{all[i].Name, c.Count, numberValue(c.Mean), numberValue(others)})
		}
	}
	return unfair
}

// MostUneven returns the repeat with the most uneven service according to Jain's index, and the
// number of repeats with uneven service. It considers only repeats in which chance cannot explain
// the difference, and returns nil if there are none.
func MostUneven(r *Row) (worst *record.Trial, n int) {
	least := math.Inf(1)
	for _, t := range r.Done {
		u, ok := UnfairnessOf(t)
		if !ok {
			continue
		}
		if n++; worst == nil || u.Fairness.Number < least {
			worst, least = t, u.Fairness.Number
		}
	}
	return worst, n
}
