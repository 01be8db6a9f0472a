package calibrate

import (
	"context"
	"crypto/tls"
	"fmt"
	"math"
	"net"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/signals"
)

// connects is the number of connections to one address in each round. The constant enough limits
// the total time of all rounds. A round that has used its share of this time makes fewer
// connections.
const (
	connects = 20
	enough   = 2 * time.Second
)

// connecting is a function that opens a connection and returns how long this took.
type connecting func(ctx context.Context) (time.Duration, error)

// Loopback times TCP connections over loopback, which is the kernel's part of a round trip.
func Loopback(ctx context.Context, rounds int) (record.RoundTrip, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return record.RoundTrip{}, fmt.Errorf("cannot measure round trips over loopback: %w", err)
	}
	accepted := make(chan struct{})
	go func() {
		defer close(accepted)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close() // no data is sent on the connection
		}
	}()
	defer func() {
		_ = l.Close() // this ends the goroutine
		<-accepted
	}()
	return roundTrip(ctx, "loopback", rounds, func(ctx context.Context) (time.Duration, error) {
		return signals.Connect(ctx, l.Addr().String(), nil)
	})
}

// Endpoint times TCP connections to an endpoint. The limit applies to each connection. If secure is
// not nil, a TLS handshake follows, which is not timed.
func Endpoint(ctx context.Context, endpoint string, secure *tls.Config, limit time.Duration, rounds int) (record.RoundTrip, error) {
	return roundTrip(ctx, endpoint, rounds, func(ctx context.Context) (time.Duration, error) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return signals.Connect(ctx, endpoint, secure)
	})
}

// roundTrip times connections in the given number of rounds. Each round has at least one
// connection.
func roundTrip(ctx context.Context, to string, rounds int, connect connecting) (record.RoundTrip, error) {
	r := record.RoundTrip{To: to, LowestNS: math.Inf(1)}
	var medians []float64
	for range rounds {
		var took []int64
		for spent := time.Duration(0); len(took) < connects && (len(took) == 0 || spent < enough/time.Duration(rounds)); {
			one, err := connect(ctx)
			if err != nil {
				return record.RoundTrip{}, err
			}
			took, spent = append(took, int64(one)), spent+one
		}
		slices.Sort(took)
		r.LowestNS = min(r.LowestNS, float64(took[0]))
		r.Count += len(took)
		medians = append(medians, nearestRank(took, 0.50))
	}
	r.P50NS = record.SummarizeRounds(medians...)
	return r, nil
}
