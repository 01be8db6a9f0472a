package analyze

import (
	"math"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Unfair describes uneven service of a closed loop's clients, beyond what matters and beyond
// chance.
type Unfair struct {
	Fairness record.Value // Jain's index
	Clients  int
	// Tenth is a tenth of the clients. TenthShare is the share of all operations that the
	// slowest tenth completed, and FairShare their share with even service. Lagging reports
	// whether this tenth was served unfairly.
	Tenth                 int
	TenthShare, FairShare record.Value
	Lagging               bool
	// Starved is the number of clients with less than a tenth of the median client's operations;
	// 0 if chance can explain that.
	Starved int
	// Members are those whose clients did less than the other members' clients.
	Members []UnfairMember
}

// UnfairMember is a member whose clients were served less than the others.
type UnfairMember struct {
	Name    string
	Clients int
	// Each is the mean count of this member's clients, Others that of the other members'
	// clients.
	Each, Others record.Value
}

// Thresholds of uneven service.
const (
	// unfairRatio is the share of its due below which a group is reported.
	unfairRatio = 0.75
	// unfairErrors is the required deficit in standard errors of chance; starvedErrors is that
	// of one client, of which there may be thousands.
	unfairErrors  = 4
	starvedErrors = 8
	// leastEach is the mean number of operations per client from which chance can be estimated.
	leastEach = 30
)

// UnfairnessOf judges a closed loop; ok is false if its clients were served evenly, or if their
// counts are not recorded.
//
// Evenly served clients do not complete equal numbers of operations. The count of a client whose
// operations take a mean time of W with a standard deviation of S is a renewal process, with a
// standard deviation of about S/W √m over m operations (Cox 1962, Renewal Theory, 3.3); an
// operation at either end of the window may count or not. W is the clients' time divided by the
// operations due. An operation in flight at the start of the window has about as much time left
// as it has taken.
func UnfairnessOf(t *record.Trial) (u Unfair, ok bool) {
	b := t.ByClient
	if !HasFigures(t) || b == nil || b.Count < 2 || b.TenthShare == nil || t.Due == 0 || t.Spread == nil || t.Seconds <= 0 {
		return u, false
	}
	each, window := float64(t.Due)/float64(b.Count), t.Seconds*1e9
	if each < leastEach {
		return u, false
	}
	chance := math.Hypot(math.Hypot(*t.Spread/(window/each)/math.Sqrt(each), 1/each), float64(t.CarriedInAgeNS)/window)
	figure := record.Registered("fairness")
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

// unfairMembers returns the members whose clients did less than the others' clients.
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

// MostUneven returns the repeat of a row with the most uneven service by Jain's index, of the
// repeats in which it was beyond chance, and the number of those; nil for none.
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
