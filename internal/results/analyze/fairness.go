package analyze

import (
	"math"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Unfair says how unevenly the clients of a closed loop were served: beyond what
// matters, and beyond what chance does to clients that are served alike.
type Unfair struct {
	Fairness record.Value // Jain's index
	Clients  int
	// Tenth is how many clients a tenth of them are, and TenthShare what those did
	// who did the least, of all that was done; FairShare is what even service would
	// have given them. Lagging says that this is what is unfair.
	Tenth                 int
	TenthShare, FairShare record.Value
	Lagging               bool
	// Starved is how many did less than a tenth of the median client's; 0 where
	// chance alone might do that.
	Starved int
	// Members are those whose clients did so much less than the others' clients.
	Members []UnfairMember
}

// UnfairMember is a member whose clients were served less than the others.
type UnfairMember struct {
	Name    string
	Clients int
	// Each is what one of them did on average, and Others what one of the other
	// members' clients did.
	Each, Others record.Value
}

// When clients count as served unevenly.
const (
	// unfairRatio is the part of its due below which a group's operations are
	// worth a word.
	unfairRatio = 0.75
	// unfairErrors is by how many standard errors of chance they must be less;
	// starvedErrors is the same of one client, of which there may be thousands.
	unfairErrors  = 4
	starvedErrors = 8
	// leastEach is how many operations a client must have on average for chance to
	// be known.
	leastEach = 30
)

// UnfairnessOf judges a closed loop; ok is false where its clients were served
// evenly, or where that is not recorded.
//
// Clients that are served alike do not do the same number of operations: the
// count of a client whose operations take a mean time of W with a standard
// deviation of S is that of a renewal process, whose standard deviation over m
// operations is about S/W √m (Cox 1962, Renewal Theory, 3.3), and an operation at
// either end of the window is in it or not. W is the clients' time over what was
// due. What was under way when the window opened kept its client for about as long
// again as it was old.
func UnfairnessOf(t *record.Trial) (u Unfair, ok bool) {
	b := t.ByClient
	if !Measured(t) || b == nil || b.Count < 2 || b.TenthShare == nil || t.Due == 0 || t.Spread == nil || t.Seconds <= 0 {
		return u, false
	}
	each, window := float64(t.Due)/float64(b.Count), t.Seconds*1e9
	if each < leastEach {
		return u, false
	}
	chance := math.Hypot(math.Hypot(*t.Spread/(window/each)/math.Sqrt(each), 1/each), float64(t.CarriedInAgeNS)/window)
	figure := record.Registered("fairness")
	u = Unfair{Fairness: figure.Of(t), Clients: b.Count, Tenth: b.Tenth,
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

// unfairMembers are the members whose clients did less than the others' clients.
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

// MostUneven is the repeat of a row in which clients were served most unevenly, by
// Jain's index, of those in which that was beyond chance, and how many those are;
// nil for none.
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
