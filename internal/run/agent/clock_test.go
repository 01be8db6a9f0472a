package agent

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/host"
)

var epoch = time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)

// exchangeAt returns an exchange that begins at the given time. The parameters `there` and `back`
// are the delays in the two directions, and `ahead` is the offset of the other clock.
func exchangeAt(at time.Time, there, back, ahead time.Duration) Exchange {
	const busy = 10 * time.Microsecond
	received := at.Add(there)
	return Exchange{RequestSent: at, RequestReceived: received.Add(ahead), ReplySent: received.Add(busy + ahead), ReplyReceived: received.Add(busy + back)}
}

// The difference between the estimate and the true offset is at most the bound, whatever the delays
// are. If both delays are equal, the estimate is exact.
func TestBoundContainsTheTruth(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		ahead := time.Duration(r.Int64N(2*int64(10*time.Hour))) - 10*time.Hour
		there, back := time.Duration(r.Int64N(1e9)), time.Duration(r.Int64N(1e9))
		o, ok := exchangeAt(epoch, there, back, ahead).Offset()
		if !ok || (o.Ahead-ahead).Abs() > o.Bound || o.Bound > (there+back)/2+1 {
			t.Fatalf("%v there, %v back, ahead %v: %+v, %v", there, back, ahead, o, ok)
		}
		if o, _ := exchangeAt(epoch, there, there, ahead).Offset(); o.Ahead != ahead {
			t.Fatalf("%v each way, ahead %v: %+v", there, ahead, o)
		}
	}
}

// The estimate comes from the exchange with the shortest round trip, and its bound holds while both
// clocks run at the same rate.
func TestOffsetsUseTheBestExchange(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var o Offsets
	const ahead = -3 * time.Second
	var all []host.Clock
	for i := range maxExchanges {
		there, back := time.Duration(r.ExpFloat64()*1e6), time.Duration(r.ExpFloat64()*1e6)
		one := exchangeAt(epoch.Add(time.Duration(i)*time.Second), there, back, ahead)
		o.Add(one)
		c, _ := one.Offset()
		all = append(all, c)
	}
	at := epoch.Add(maxExchanges * time.Second)
	best := slices.MinFunc(all, func(a, b host.Clock) int { return cmp.Compare(a.ErrorBound(at), b.ErrorBound(at)) }).Bound
	now := o.Estimate(at)
	if now.Bound != best || (now.Ahead-ahead).Abs() > now.Bound || now.Jumps != 0 || now.ChangeSinceFirst.Abs() > time.Second {
		t.Errorf("the estimate is %+v, want the bound %v", now, best)
	}
}

// After a clock is set, the estimate follows immediately, and earlier exchanges no longer influence
// it.
func TestFollowsAClockThatJumps(t *testing.T) {
	var o Offsets
	for i := range 20 {
		o.Add(exchangeAt(epoch.Add(time.Duration(i)*time.Second), 50*time.Microsecond, 60*time.Microsecond, time.Millisecond))
	}
	before := o.Estimate(epoch.Add(time.Minute))
	o.Add(exchangeAt(epoch.Add(time.Minute), time.Millisecond, 2*time.Millisecond, time.Hour))
	now := o.Estimate(epoch.Add(time.Minute + time.Second))
	if before.Jumps != 0 || now.Jumps != 1 || (now.Ahead-time.Hour).Abs() > now.Bound || (now.ChangeSinceFirst-time.Hour).Abs() > 2*now.Bound || (now.JumpSum-time.Hour).Abs() > 2*now.Bound {
		t.Errorf("%+v, then %+v", before, now)
	}
	// A slow drift moves the estimate, but the error stays within the bounds of the kept exchanges.
	for i := range 1000 {
		o.Add(exchangeAt(epoch.Add(time.Duration(100+i)*time.Second), 50*time.Microsecond, 50*time.Microsecond, time.Hour+time.Duration(i)*10*time.Microsecond))
	}
	if now := o.Estimate(epoch.Add(1100 * time.Second)); (now.Ahead - time.Hour - 10*time.Millisecond).Abs() > 200*time.Microsecond {
		t.Errorf("after a drift of 10 ms: %+v", now)
	}
}

// Impossible times from an agent are ignored.
func TestIgnoresImpossibleTimes(t *testing.T) {
	at := epoch
	for _, e := range []Exchange{
		{RequestSent: at, RequestReceived: time.Time{}, ReplySent: time.Time{}, ReplyReceived: at.Add(1)},
		{RequestSent: at, RequestReceived: at.AddDate(100, 0, 0), ReplySent: at.AddDate(100, 0, 0), ReplyReceived: at.Add(1)},
		{RequestSent: at, RequestReceived: at, ReplySent: at.Add(time.Hour), ReplyReceived: at.Add(1)},
		{RequestSent: at, RequestReceived: at, ReplySent: at.Add(-1), ReplyReceived: at.Add(1)},
	} {
		var o Offsets
		if o.Add(e); o.Estimate(at) != (host.Clock{}) {
			t.Errorf("%+v: %+v", e, o.Estimate(at))
		}
	}
}

// wandering is a clock that drifts and is occasionally set.
type wandering struct {
	rate  float64
	ahead time.Duration
}

func (w wandering) offsetAt(t time.Time) time.Duration {
	return w.ahead + time.Duration(w.rate*float64(t.Sub(epoch)))
}

// exchange returns an exchange of timestamps with the clock. The exchange begins at the given time.
func (w wandering) exchange(r *rand.Rand, at time.Time) Exchange {
	there, back := time.Duration(r.ExpFloat64()*1e6), time.Duration(r.ExpFloat64()*1e6)
	received, heard := at.Add(there), at.Add(there+back)
	return Exchange{RequestSent: at, RequestReceived: received.Add(w.offsetAt(received)), ReplySent: received.Add(w.offsetAt(received)), ReplyReceived: heard}
}

// However two clocks drift, the error of the estimate is always within the bound, even long after
// the last exchange. Drift is not reported as a jump. After a clock is set, the estimate is correct
// again after the next exchange.
func TestBoundIsValidWhileClocksDrift(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		w := wandering{rate: (2*r.Float64() - 1) * host.Drift, ahead: time.Duration(r.Int64N(1e12)) - 5e11}
		var o Offsets
		at, jumps := epoch, 0
		var set time.Duration
		for range 200 {
			if r.IntN(50) == 0 {
				by := time.Duration(r.Int64N(int64(2*time.Hour))) - time.Hour
				if by.Abs() < time.Second || len(o.recent) == 0 {
					by = 0
				} else {
					jumps++
				}
				w.ahead, set = w.ahead+by, set+by
			}
			e := w.exchange(r, at)
			o.Add(e)
			later := e.ReplyReceived.Add(time.Duration(r.ExpFloat64() * 5e9))
			if is := o.Estimate(later); (is.Ahead - w.offsetAt(later)).Abs() > is.ErrorBound(later) {
				t.Fatalf("seed %d: the estimate is %+v with the error bound %v, but the clock is %v ahead", seed, is, is.ErrorBound(later), w.offsetAt(later))
			}
			at = later
		}
		is := o.Estimate(at)
		if is.Jumps != jumps || (is.JumpSum-set).Abs() > time.Duration(jumps+1)*100*time.Millisecond {
			t.Fatalf("seed %d: the clock jumped %d times by %v in total, but the estimate is %+v", seed, jumps, set, is)
		}
	}
}

// A converted time from a reply differs from the true time by at most the bound, even if the clock
// was set after the last exchange.
func TestTimesOfAnswersAfterAJump(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 8))
		w := wandering{rate: (2*r.Float64() - 1) * host.Drift, ahead: time.Hour}
		var o Offsets
		at := epoch
		for range 50 {
			o.Add(w.exchange(r, at))
			if at = at.Add(time.Second); r.IntN(4) == 0 {
				w.ahead += time.Duration(r.Int64N(int64(2*time.Hour))) - time.Hour
			}
			said := at.Add(time.Duration(r.ExpFloat64() * 1e6))
			heard := said.Add(time.Duration(r.ExpFloat64() * 1e6))
			got := o.Convert(said.Add(w.offsetAt(said)), at, heard)
			if is := o.Estimate(heard); (got.Sub(said)).Abs() > is.ErrorBound(heard)+heard.Sub(at) || got.Before(at.Add(-is.ErrorBound(heard))) || got.After(heard.Add(is.ErrorBound(heard))) {
				t.Fatalf("seed %d: a reply was sent at %v in an exchange from %v to %v, and its time was converted to %v", seed, said.Sub(at), 0, heard.Sub(at), got.Sub(at))
			}
			at = heard.Add(time.Second)
		}
	}
}
