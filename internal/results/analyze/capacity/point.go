package capacity

import "math"

// The band is the range below and above the limit, in log odds, in which a share shows the distance
// to the capacity. Beyond it, a share shows only on which side the capacity is: an overloaded or
// nearly idle server is not on a line with one near its capacity.
const (
	bandBelow = 2.5
	bandAbove = 1.5
)

// point is a trial as used by an estimate, for one goal.
type point struct {
	x       float64 // the rate's logarithm
	at      float64 // of the window's middle, in seconds of the search
	n       float64 // operations due
	share   float64 // share of bad operations, limited to the band
	least   float64 // share without the operations that a disturbance made bad
	surely  float64 // weight of the evidence of a share above the band that the capacity is below; 1 within the band
	seconds float64
	// variance is the variance of the number of bad operations, as the seconds show it; 0 if none
	// or all were bad, or the share is beyond the band.
	variance   float64
	most       float64 // the variance if operations were bad independently of each other
	overloaded bool
	grew       float64 // evidence for the growth of an overload's backlog, as twice a log-likelihood ratio
	behind     float64 // growth of another backlog, as a share of the operations due
}

func logit(p float64) float64  { return math.Log(p / (1 - p)) }
func odds(eta float64) float64 { return 1 / (1 + math.Exp(-eta)) }

// pointOf returns a trial's point for a goal.
func pointOf(t *Trial, goals []Goal, goal int) point {
	g := goals[goal]
	due, bad := t.counts(goal)
	p := point{x: math.Log(t.Rate), at: t.Began + t.Length/2, n: due, seconds: t.Length}
	least, most := odds(logit(g.Limit)-bandBelow), odds(logit(g.Limit)+bandAbove)
	share := bad / math.Max(due, 1)
	sure := t.surelyBad(goal) / math.Max(due, 1)
	switch p.overloaded = t.surelyOverloaded(goals); {
	case p.overloaded:
		share, sure, p.grew = most, most, t.grew()
	case t.Overloaded(goals): // the backlog may not be the store's
		share, p.behind = most, 1
	default:
		p.behind = math.Max(t.missing()/math.Max(due, 1), 0)
	}
	p.share, p.surely = math.Min(math.Max(share, least), most), 1
	if p.least = math.Min(math.Max(sure, least), p.share); sure > most {
		p.surely = divergence(math.Min(sure, 0.999), logit(g.Limit)) / divergence(most, logit(g.Limit))
	}
	if share > least && share < most {
		p.variance, p.most = spread(t.Seconds, goal, share), due*share*(1-share)
	}
	return p
}

// spread returns the variance of the number of bad operations: the sum of the seconds' variances
// and covariances with later seconds (Newey and West 1987), since one second of a busy period is
// followed by another.
func spread(seconds []Second, goal int, share float64) (v float64) {
	n := len(seconds)
	lags := int(math.Sqrt(float64(n)))
	off := make([]float64, n)
	for i := range seconds {
		off[i] = seconds[i].Bad[goal] - share*seconds[i].Due
	}
	for lag := range lags + 1 {
		weight := 2 * (1 - float64(lag)/float64(lags+1))
		if lag == 0 {
			weight = 1
		}
		for i := lag; i < n; i++ {
			v += weight * off[i] * off[i-lag]
		}
	}
	// The mean is estimated, too, which reduces the sums by about this share (lags+1 of n for
	// independent seconds).
	return math.Max(v, 0) / math.Max(1-float64(lags+1)/float64(n), 0.4)
}

// freedom returns the number of degrees of freedom of the variance.
func freedom(points []point) float64 {
	n := 0.0
	for _, p := range points {
		if p.variance > 0 {
			n += p.seconds
		}
	}
	return math.Min(math.Max(n/3, 8), 40)
}

// divergence returns the Kullback-Leibler divergence of a share from a share given by its log odds.
func divergence(share, eta float64) float64 {
	return selfLogLikelihood(share) - share*eta + normal(eta)
}

// selfLogLikelihood returns the log-likelihood of a share under itself.
func selfLogLikelihood(share float64) float64 {
	return share*math.Log(share) + (1-share)*math.Log1p(-share)
}

// normal returns the logarithm of 1 plus the odds.
func normal(eta float64) float64 { return math.Log1p(math.Exp(eta)) }
