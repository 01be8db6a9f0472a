package agent

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// Impossible measurements from an agent are rejected with an error.
func TestRefusesImpossibleSurveys(t *testing.T) {
	ctx := context.Background()
	w := probe.PacedWrites{Sizes: []int{1}, Interval: 100 * time.Millisecond, Duration: 2 * time.Second}
	write := func(h host.Host) error {
		return h.WriteLog(ctx, "/d", w, func(measure.WrittenSecond) bool { return true })
	}
	second := func(s measure.WrittenSecond) []reply { return []reply{{Second: &s}} }
	for name, test := range map[string]struct {
		says []reply
		do   func(h host.Host) error
		want string
	}{
		"a gap":           {second(measure.WrittenSecond{First: 5, WaitNS: []int64{1}}), write, "write 0 is followed by write 5"},
		"no write":        {second(measure.WrittenSecond{}), write, "with 0 times"},
		"too many writes": {second(measure.WrittenSecond{WaitNS: make([]int64, 21)}), write, "with 21 times"},
		"a negative time": {second(measure.WrittenSecond{WaitNS: []int64{-1}}), write, "a write took -1 ns"},
		"an error":        {[]reply{{Error: "the disk\nis full"}}, write, "agent evil: the disk; is full"},
		"no limits":       {[]reply{{}}, func(h host.Host) error { _, err := h.Limits(ctx, "/d"); return err }, "it contains no limits"},
		"an echo server without a token": {[]reply{{Address: "127.0.0.1:1"}}, func(h host.Host) error {
			_, err := h.Echo(ctx)
			return err
		}, "has no address or no token"},
		"too many round trips": {[]reply{{Trips: &measure.RoundTrips{NS: []int64{1, 2}}}}, func(h host.Host) error {
			_, err := h.RoundTrips(ctx, "127.0.0.1:1", "", 1)
			return err
		}, "no round trips, or more than requested"},
		"a negative round trip": {[]reply{{Trips: &measure.RoundTrips{NS: []int64{-1}}}}, func(h host.Host) error {
			_, err := h.RoundTrips(ctx, "127.0.0.1:1", "", 1)
			return err
		}, "round trip is negative"},
	} {
		r := hostile(t, func(in *stream) {
			for i := range test.says {
				_ = sendJSON(in, test.says[i])
			}
		})
		if err := test.do(r.Host()); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An agent rejects surveys outside its folder, and writes that need more space than is free.
func TestRefusesSurveysOutsideItsFolder(t *testing.T) {
	s, to := served(t, nil)
	h := dialled(t, to).Host()
	w := probe.PacedWrites{Sizes: []int{1}, Interval: 100 * time.Millisecond, Duration: 2 * time.Second}
	never := func(measure.WrittenSecond) bool { t.Error("a rejected survey wrote data"); return false }
	if err := h.WriteLog(t.Context(), t.TempDir(), w, never); err == nil || !strings.Contains(err.Error(), "is outside the agent's folder") {
		t.Errorf("a survey of a folder outside the agent's folder returned: %v", err)
	}
	if _, err := h.Limits(t.Context(), "/"); err == nil || !strings.Contains(err.Error(), "is outside the agent's folder") {
		t.Errorf("the limits of a folder outside the agent's folder returned: %v", err)
	}
	w.Neighbor = 1 << 39
	if err := h.WriteLog(t.Context(), string(s.folder), w, never); err == nil || !strings.Contains(err.Error(), "are free in") {
		t.Errorf("writes that need more space than is free returned: %v", err)
	}
}
