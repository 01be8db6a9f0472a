package agent

import (
	"math/rand/v2"
	"testing"
	"time"
)

var epoch = time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)

// exchangeAt is one that begins at a time, with a way there and a way back, with a
// clock that is ahead by so much.
func exchangeAt(at time.Time, there, back, ahead time.Duration) Exchange {
	const busy = 10 * time.Microsecond
	received := at.Add(there)
	return Exchange{Asked: at, Received: received.Add(ahead), Answered: received.Add(busy + ahead), Heard: received.Add(busy + back)}
}

// Whatever the two ways took, the truth is within the bound; when they took as
// long, the estimate is the truth.
func TestTheBoundHoldsTheTruth(t *testing.T) {
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

// The estimate is that of the shortest round trip, and its bound holds the truth
// as long as the clocks run alike.
func TestOffsetsTakeTheBest(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var o Offsets
	const ahead = -3 * time.Second
	best := time.Hour
	for i := range kept {
		there, back := time.Duration(r.ExpFloat64()*1e6), time.Duration(r.ExpFloat64()*1e6)
		best = min(best, (there+back+1)/2)
		o.Add(exchangeAt(epoch.Add(time.Duration(i)*time.Second), there, back, ahead))
	}
	now := o.Now()
	if now.Bound != best || (now.Ahead-ahead).Abs() > now.Bound || now.Jumps != 0 || now.Moved.Abs() > time.Second {
		t.Errorf("%+v, and the best bound is %v", now, best)
	}
}

// A clock that is set is followed at once, and what went before is not mixed in.
func TestAClockThatJumps(t *testing.T) {
	var o Offsets
	for i := range 20 {
		o.Add(exchangeAt(epoch.Add(time.Duration(i)*time.Second), 50*time.Microsecond, 60*time.Microsecond, time.Millisecond))
	}
	before := o.Now()
	o.Add(exchangeAt(epoch.Add(time.Minute), time.Millisecond, 2*time.Millisecond, time.Hour))
	now := o.Now()
	if before.Jumps != 0 || now.Jumps != 1 || (now.Ahead-time.Hour).Abs() > now.Bound || (now.Moved-time.Hour).Abs() > 2*now.Bound {
		t.Errorf("%+v, then %+v", before, now)
	}
	// A slow drift moves it, within the bounds of what is kept.
	for i := range 1000 {
		o.Add(exchangeAt(epoch.Add(time.Duration(100+i)*time.Second), 50*time.Microsecond, 50*time.Microsecond, time.Hour+time.Duration(i)*10*time.Microsecond))
	}
	if now := o.Now(); (now.Ahead - time.Hour - 10*time.Millisecond).Abs() > 200*time.Microsecond {
		t.Errorf("after a drift of 10 ms: %+v", now)
	}
}

// An agent that says what no clock does changes nothing.
func TestTimesThatCannotBe(t *testing.T) {
	at := epoch
	for _, e := range []Exchange{
		{Asked: at, Received: time.Time{}, Answered: time.Time{}, Heard: at.Add(1)},
		{Asked: at, Received: at.AddDate(100, 0, 0), Answered: at.AddDate(100, 0, 0), Heard: at.Add(1)},
		{Asked: at, Received: at, Answered: at.Add(time.Hour), Heard: at.Add(1)},
		{Asked: at, Received: at, Answered: at.Add(-1), Heard: at.Add(1)},
	} {
		var o Offsets
		if o.Add(e); o.Now() != (Offset{}) {
			t.Errorf("%+v: %+v", e, o.Now())
		}
	}
}
