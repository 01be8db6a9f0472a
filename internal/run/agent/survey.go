package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/probe"
	"github.com/quorumbench/quorumbench/internal/text"
)

// answerSurvey executes a request of a survey that has a single reply.
func (s *Server) answerSurvey(ctx context.Context, now *session, r *request) (reply, error) {
	if r.Action == roundTripsAction {
		got, err := s.host.RoundTrips(ctx, r.Address, r.Token, r.Count)
		return reply{Trips: &got}, err
	}
	if err := now.files.open(); err != nil {
		return reply{}, err
	}
	p, err := s.host.Limits(ctx, r.Path)
	return reply{Limits: &p}, err
}

// serveWrites makes synced writes in a folder, and sends the times of the writes in one message for
// each second. It stops after the requested writes, or earlier if the controller sends a message or
// ends the stream. The last message contains no times.
func (s *Server) serveWrites(ctx context.Context, now *session, st *stream, r *request) error {
	if err := s.folder.check(r.Path); err != nil {
		return err
	}
	if r.Writes == nil {
		return errors.New("the request contains no writes")
	}
	if err := now.files.open(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		defer cancel()
		_, _ = st.Receive() // the controller sends a message, or ends the stream, when it needs no more writes
	}()
	err := s.host.WriteLog(ctx, r.Path, *r.Writes, func(second measure.WrittenSecond) bool {
		return sendJSON(st, reply{Second: &second}) == nil
	})
	if err != nil {
		return err
	}
	return sendJSON(st, reply{})
}

// serveEcho serves an echo server until the stream ends.
func (s *Server) serveEcho(ctx context.Context, st *stream) error {
	e, err := s.host.Echo(ctx)
	if err != nil {
		return err
	}
	defer e.Close()
	if err := sendJSON(st, reply{Address: e.Address, Token: e.Token}); err != nil {
		return nil
	}
	_, _ = st.Receive() // no message follows; the server ends with the stream
	return nil
}

// Limits implements host.Host.
func (h *remoteHost) Limits(ctx context.Context, dir string) (measure.HostLimits, error) {
	a, err := h.call(ctx, request{Action: limitsAction, Path: dir})
	if err != nil {
		return measure.HostLimits{}, err
	}
	if a.Limits == nil {
		return measure.HostLimits{}, h.impossible("it contains no limits")
	}
	if err := text.CheckNumbers(a.Limits); err != nil {
		return measure.HostLimits{}, h.impossible(err.Error())
	}
	text.SanitizeFields(a.Limits)
	return *a.Limits, nil
}

// WriteLog implements host.Host. It returns after the agent has removed its files.
func (h *remoteHost) WriteLog(ctx context.Context, dir string, w probe.PacedWrites, second func(measure.WrittenSecond) bool) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	st, err := h.r.open(hostMethod)
	if err != nil {
		return h.r.describeError(err)
	}
	defer st.close()
	if err := sendJSON(st, request{Action: writeLogAction, Path: dir, Writes: &w}); err != nil && !errors.Is(err, io.EOF) {
		return h.r.describeError(err)
	}
	end := func() { _ = sendJSON(st, request{Action: releaseAction}) } // if the stream has ended, the agent has stopped, too
	defer context.AfterFunc(ctx, end)()
	ended := false
	for next := 0; ; {
		a, err := receiveJSON[reply](st)
		switch {
		case err != nil || a.Error != "":
			return h.replyError(a, err)
		case a.Second == nil:
			return nil
		}
		s := a.Second
		if err := checkSecond(s, next, &w); err != nil {
			return h.closeUntrusted(err)
		}
		next += len(s.WaitNS)
		if !ended && !second(*s) {
			ended = true
			end()
		}
	}
}

// checkSecond returns an error if the reported times of the writes in one second are impossible.
// `next` is the number of the first expected write.
func checkSecond(s *measure.WrittenSecond, next int, w *probe.PacedWrites) error {
	if err := text.CheckNumbers(s); err != nil {
		return err
	}
	total := int(w.Duration / w.Interval)
	if s.First != next || len(s.WaitNS) == 0 || len(s.WaitNS) > total-next || len(s.SyncNS) > len(s.WaitNS) {
		return fmt.Errorf("write %d is followed by write %d, with %d times and %d syncs", next, s.First, len(s.WaitNS), len(s.SyncNS))
	}
	for _, all := range [][]int64{s.WaitNS, s.SyncNS} {
		for _, ns := range all {
			if ns < 0 {
				return fmt.Errorf("a write took %d ns", ns)
			}
		}
	}
	return nil
}

// Echo implements host.Host.
func (h *remoteHost) Echo(ctx context.Context) (*host.Echo, error) {
	st, a, err := h.open(ctx, request{Action: echoAction})
	if err != nil {
		return nil, err
	}
	if at, _, err := net.SplitHostPort(a.Address); err != nil || net.ParseIP(at) == nil || a.Token == "" {
		st.close()
		return nil, h.impossible("the echo server has no address or no token")
	}
	return &host.Echo{Address: a.Address, Token: a.Token, Close: st.close}, nil
}

// RoundTrips implements host.Host.
func (h *remoteHost) RoundTrips(ctx context.Context, address, token string, n int) (measure.RoundTrips, error) {
	a, err := h.call(ctx, request{Action: roundTripsAction, Address: address, Token: token, Count: n})
	if err != nil {
		return measure.RoundTrips{}, err
	}
	if a.Trips == nil || len(a.Trips.NS) == 0 || len(a.Trips.NS) > n {
		return measure.RoundTrips{}, h.impossible("it has no round trips, or more than requested")
	}
	if err := text.CheckNumbers(a.Trips); err != nil {
		return measure.RoundTrips{}, h.impossible(err.Error())
	}
	if slices.Min(a.Trips.NS) < 0 {
		return measure.RoundTrips{}, h.impossible("the duration of a round trip is negative")
	}
	return *a.Trips, nil
}
