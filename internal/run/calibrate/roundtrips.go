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

// maxConnections is the maximum number of connections to one address in each round. The constant
// maxTotalTime limits the total time of all rounds. A round that has used its share of this time
// makes fewer connections.
const (
	maxConnections = 20
	maxTotalTime   = 2 * time.Second
)

// connectFunc is a function that opens a connection and returns how long this took.
type connectFunc func(ctx context.Context) (time.Duration, error)

// MeasureLoopback measures how long TCP connections over loopback take to open. This time is the
// kernel's part of a round trip.
func MeasureLoopback(ctx context.Context, rounds int) (record.RoundTrip, error) {
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
		return signals.MeasureConnect(ctx, l.Addr().String(), nil)
	})
}

// MeasureEndpoint measures how long TCP connections to an endpoint take to open. The parameter
// `limit` is the time limit for each connection. If `secure` is not nil, a TLS handshake follows,
// which is not measured.
func MeasureEndpoint(ctx context.Context, endpoint string, secure *tls.Config, limit time.Duration, rounds int) (record.RoundTrip, error) {
	return roundTrip(ctx, endpoint, rounds, func(ctx context.Context) (time.Duration, error) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return signals.MeasureConnect(ctx, endpoint, secure)
	})
}

// roundTrip measures how long connections take to open, in the given number of rounds. Each round
// has at least one connection.
func roundTrip(ctx context.Context, endpoint string, rounds int, connect connectFunc) (record.RoundTrip, error) {
	r := record.RoundTrip{Address: endpoint, LowestNS: math.Inf(1)}
	var medians []float64
	for range rounds {
		var durations []int64
		for spent := time.Duration(0); len(durations) < maxConnections && (len(durations) == 0 || spent < maxTotalTime/time.Duration(rounds)); {
			one, err := connect(ctx)
			if err != nil {
				return record.RoundTrip{}, err
			}
			durations, spent = append(durations, int64(one)), spent+one
		}
		slices.Sort(durations)
		r.LowestNS = min(r.LowestNS, float64(durations[0]))
		r.Count += len(durations)
		medians = append(medians, nearestRank(durations, 0.50))
	}
	r.P50NS = record.SummarizeRounds(medians...)
	return r, nil
}
