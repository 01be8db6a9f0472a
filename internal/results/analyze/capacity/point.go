package capacity

import "math"

// The band is the range around the limit, in log odds, in which a share of bad operations shows how
// far the rate is from the capacity. Outside the band, a share shows only whether the rate is above
// or below the capacity, because an overloaded or almost idle server does not follow the line that
// applies near the capacity.
const (
	bandBelow = 2.5
	bandAbove = 1.5
)

// point is the result of a trial for one goal, in the form that an estimate uses.
type point struct {
	x                float64 // logarithm of the rate
	time             float64 // middle of the window, in seconds since the start of the search
	n                float64 // number of due operations
	share            float64 // share of bad operations, limited to the band
	undisturbedShare float64 // share without the operations that were bad because of a disturbance
	// 1 if the share is within or below the band; if it is above, the weight of the evidence that
	// the capacity is below the rate
	weight  float64
	seconds float64
	// variance is the variance of the number of bad operations, estimated from the one-second
	// intervals. It is 0 if no or all operations were bad, or if the share is outside the band.
	variance            float64
	independentVariance float64 // the variance if operations became bad independently
	overloaded          bool
	// evidence that the backlog of an overload grew, as twice a log-likelihood ratio
	growthEvidence float64
	// growth of the backlog in a trial without an overload, as a share of the due operations
	backlogGrowth float64
}

func logit(p float64) float64  { return math.Log(p / (1 - p)) }
func odds(eta float64) float64 { return 1 / (1 + math.Exp(-eta)) }

// pointOf returns the point of a trial for one goal.
func pointOf(t *Trial, goals []Goal, goal int) point {
	g := goals[goal]
	due, bad := t.counts(goal)
	p := point{x: math.Log(t.Rate), time: t.StartTime + t.Length/2, n: due, seconds: t.Length}
	least, most := odds(logit(g.Limit)-bandBelow), odds(logit(g.Limit)+bandAbove)
	share := bad / math.Max(due, 1)
	sure := t.certainlyBad(goal) / math.Max(due, 1)
	switch p.overloaded = t.certainlyOverloaded(goals); {
	case p.overloaded:
		share, sure, p.growthEvidence = most, most, t.growthEvidence()
	case t.Overloaded(goals): // the store may not have caused the backlog
		share, p.backlogGrowth = most, 1
	default:
		p.backlogGrowth = math.Max(t.countUnfinished()/math.Max(due, 1), 0)
	}
	p.share, p.weight = math.Min(math.Max(share, least), most), 1
	if p.undisturbedShare = math.Min(math.Max(sure, least), p.share); sure > most {
		p.weight = divergence(math.Min(sure, 0.999), logit(g.Limit)) / divergence(most, logit(g.Limit))
	}
	if share > least && share < most {
		p.variance, p.independentVariance = spread(t.Seconds, goal, share), due*share*(1-share)
	}
	return p
}

// spread returns the variance of the number of bad operations. It adds the variances of the
// one-second intervals and the covariances between each interval and later ones (Newey and West
// 1987), because a busy period usually lasts longer than one interval.
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
	// The mean is estimated from the same intervals, which makes the sums too small: for
	// independent intervals, by a share of about (lags+1)/n. The division corrects this.
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

// divergence returns the Kullback-Leibler divergence between `share` and the share whose log odds
// are `eta`.
func divergence(share, eta float64) float64 {
	return selfLogLikelihood(share) - share*eta + normal(eta)
}

// selfLogLikelihood returns the log-likelihood of a share if the share itself is the true
// probability.
func selfLogLikelihood(share float64) float64 {
	return share*math.Log(share) + (1-share)*math.Log1p(-share)
}

// normal returns log(1 + odds), where `eta` is log(odds).
func normal(eta float64) float64 { return math.Log1p(math.Exp(eta)) }

// normalTable holds the values of `normal` in the band around the limit. A fit needs it for each
// pair of a line and a point, and the table is several times as fast as an exponential and a
// logarithm. Between two values of the table, a cubic polynomial has the correct value and the
// correct first derivative at both ends (cubic Hermite interpolation). Its error is at most
// h⁴/384/8, about 1e-12, where h is the distance of the values, and 1/8 is the largest fourth
// derivative of `normal`.
type normalTable [normalSteps][4]float64 // the coefficients of each polynomial

const (
	normalSteps = 512
	normalWidth = (bandAbove + bandBelow) / normalSteps
)

// newNormalTable returns the table for a limit with the log odds `eta`.
func newNormalTable(eta float64) *normalTable {
	var t normalTable
	for i := range t {
		from := eta - bandBelow + float64(i)*normalWidth
		to := from + normalWidth
		a, b := normal(from), normal(to)
		// the derivative of `normal` is `odds`
		da, db := normalWidth*odds(from), normalWidth*odds(to)
		t[i] = [4]float64{a, da, 3*(b-a) - 2*da - db, 2*(a-b) + da + db}
	}
	return &t
}

// lookUp returns normal(eta+above), where `eta` is the log odds of the limit. The parameter `above`
// must be between -bandBelow and bandAbove.
func (t *normalTable) lookUp(above float64) float64 {
	place := (above + bandBelow) / normalWidth
	i := min(int(place), normalSteps-1)
	u, c := place-float64(i), &t[i]
	return c[0] + u*(c[1]+u*(c[2]+u*c[3]))
}
