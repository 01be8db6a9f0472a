package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/engine/poll"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
)

// check implements Worker.Check. It reads the load's first key at each consistency level at which
// the load or its preload reads. If the load only writes, any reply from the server is sufficient.
func (p *plan) check(ctx context.Context) error {
	if err := checkDistinct(ctx, p.Endpoints); err != nil {
		return err
	}
	l := p.Load
	// Leases and locks do not exist yet, so send a get instead of an operation that needs them.
	if k := l.Mix[0].Kind; k == kv.STM || k == kv.KeepAlive || p.script != nil {
		l.Mix = []scenario.Operation{{Kind: kv.Get, Weight: 1}}
	}
	src, err := newSource(&l)
	if err != nil {
		return err
	}
	var first store.Op
	src.Fill(measure.Measured, 0, 0, &first)
	levels := readLevels(&p.Load, p.store.Capabilities().Strongest())
	failed := &UnreadyError{}
	errs := make([]error, len(p.Endpoints))
	var asked sync.WaitGroup
	for i, endpoint := range p.Endpoints {
		asked.Go(func() { errs[i] = p.checkEndpoint(ctx, endpoint, levels, first) })
	}
	asked.Wait()
	for i, err := range errs {
		if errors.As(err, new(*RefusedError)) {
			return err
		}
		if err != nil {
			failed.Endpoints, failed.Errs = append(failed.Endpoints, p.Endpoints[i]), append(failed.Errs, err)
		}
	}
	if len(failed.Errs) > 0 {
		return failed
	}
	return p.checkOneHistory(ctx, first.Key)
}

// UnreadyError lists the endpoints that cannot serve a load, and the reasons.
type UnreadyError struct {
	Endpoints []string
	Errs      []error // the reason for each endpoint
}

// Error returns the text of the first endpoint's error.
func (e *UnreadyError) Error() string { return e.Errs[0].Error() }

// Unwrap returns all reasons.
func (e *UnreadyError) Unwrap() []error { return e.Errs }

// RefusedError reports that a server refuses access, or is not a server of the expected store.
// Unlike a member that does not reply, this is an error in the user's input.
type RefusedError struct{ cause error }

// Error returns the reason.
func (e *RefusedError) Error() string { return e.cause.Error() }

// Unwrap returns the reason.
func (e *RefusedError) Unwrap() error { return e.cause }

// asRefusal returns err, the error from a check. If the server's reply was a refusal, asRefusal
// wraps err in a RefusedError.
func (a *strongReadResult) asRefusal(ctx context.Context, err error) error {
	switch {
	case err == nil || ctx.Err() != nil || !a.gotReply():
		return err
	case a.ev.Outcome == kv.Denied, a.ev.Outcome == kv.BadRequest, !a.ev.Outcome.Failed():
		return &RefusedError{err}
	}
	return err
}

// checkEndpoint checks one endpoint.
func (p *plan) checkEndpoint(ctx context.Context, endpoint string, levels []kv.Consistency, first store.Op) error {
	if len(levels) == 0 {
		return p.requireReply(ctx, endpoint, &first)
	}
	for _, level := range levels {
		if err := p.requireRead(ctx, endpoint, &store.Op{Kind: kv.Get, Consistency: level, Key: first.Key}); err != nil {
			return err
		}
	}
	return nil
}

// readLevels returns the consistency levels at which the load and its preload read. The preload
// uses the strongest level.
func readLevels(l *scenario.Load, strongest kv.Consistency) (levels []kv.Consistency) {
	if l.Preload || mixHas(l, kv.STM) {
		levels = append(levels, strongest)
	}
	for _, o := range l.Mix {
		if o.Kind.Reads() && !slices.Contains(levels, o.Consistency) {
			levels = append(levels, o.Consistency)
		}
	}
	return levels
}

// requireRead returns an error unless a read at an endpoint succeeds.
func (p *plan) requireRead(ctx context.Context, endpoint string, op *store.Op) error {
	a := p.readStrong(ctx, endpoint, op)
	switch {
	case a.servesLocalReads:
		return nil
	case a.err != nil && a.gotReply() && a.ev.Outcome.Failed():
		return a.asRefusal(ctx, fmt.Errorf("a read at %s failed: %s", endpoint, cmp.Or(string(a.ev.Text), a.ev.Outcome.String())))
	}
	return a.asRefusal(ctx, a.err)
}

// strongReadResult is the result of a strong read. servesLocalReads is set if the strong read
// failed but the server serves a local read. Such a member is isolated from the other members or
// has no leader. The check does not report this as an error, because the load is meant to measure
// this state.
type strongReadResult struct {
	ev               store.Event
	err              error
	servesLocalReads bool
}

// gotReply reports whether the server replied. Without a reply, a codec still returns an event for
// an operation that it has written: the outcome kv.ConnectionLost.
func (a *strongReadResult) gotReply() bool { return !errors.As(a.err, new(*poll.NoResponseError)) }

// readStrong sends a strong read to an endpoint. If the read fails or takes longer than half of the
// dial timeout, readStrong also sends a local read. Both reads together take no longer than the
// dial timeout.
func (p *plan) readStrong(ctx context.Context, endpoint string, op *store.Op) strongReadResult {
	done := make(chan strongReadResult, 1)
	go func() {
		ev, err := p.execute(ctx, endpoint, op)
		done <- strongReadResult{ev: ev, err: err}
	}()
	half := p.dialer().Timeout / 2
	timer := time.NewTimer(half)
	defer timer.Stop()
	select {
	case a := <-done:
		a.servesLocalReads = a.err != nil && a.mayServe(ctx) && p.servesLocal(ctx, endpoint, op, half)
		return a
	case <-timer.C:
	}
	local := p.servesLocal(ctx, endpoint, op, half)
	a := <-done
	a.servesLocalReads = a.err != nil && a.mayServe(ctx) && local
	return a
}

// mayServe reports whether the server may serve other reads although this read failed.
func (a *strongReadResult) mayServe(ctx context.Context) bool {
	return ctx.Err() == nil && a.ev.Outcome != kv.Denied && a.ev.Outcome != kv.BadRequest
}

// servesLocal reports whether a local read of op's key at an endpoint succeeds within the given
// time. It returns false if the store has no local reads or op itself is a local read.
func (p *plan) servesLocal(ctx context.Context, endpoint string, op *store.Op, timeout time.Duration) bool {
	if _, ok := p.store.Capabilities().Reads[kv.Local]; !ok || op.Consistency == kv.Local {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	_, err := p.execute(ctx, endpoint, &store.Op{Kind: kv.Get, Consistency: kv.Local, Key: op.Key})
	return err == nil
}

// requireReply returns an error unless an endpoint replies to a read. The reply may be an error,
// but not a refusal. If the user has no permission to read, the user may still have permission to
// write. In that case, if the load's first operation is a put, requireReply sends this put, because
// the load will send it anyway.
func (p *plan) requireReply(ctx context.Context, endpoint string, first *store.Op) error {
	op := &store.Op{Kind: kv.Get, Consistency: p.store.Capabilities().Strongest(), Key: first.Key}
	a := p.readStrong(ctx, endpoint, op)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case a.err == nil, a.servesLocalReads:
		return nil
	case a.gotReply() && a.ev.Outcome.Failed() && a.ev.Outcome != kv.Denied && a.ev.Outcome != kv.BadRequest:
		return nil
	case a.ev.Outcome == kv.Denied && p.Load.Mix[0].Kind == kv.KeepAlive:
		return nil // leases need no permission for keys; the later lease request checks the user's permissions
	case a.ev.Outcome == kv.Denied && first.Kind == kv.Put:
		a.ev, a.err = p.execute(ctx, endpoint, first)
	}
	return a.asRefusal(ctx, a.err)
}

// checkDistinct returns an error if two endpoints, such as localhost:2379 and 127.0.0.1:2379, are
// the same server. Without this check, such a server would count as two members. checkDistinct
// ignores a name that cannot be resolved, because the later attempt to connect reports the error.
func checkDistinct(ctx context.Context, endpoints []string) error {
	places := make([]map[netip.AddrPort]bool, len(endpoints))
	for i, e := range endpoints {
		places[i] = resolve(ctx, e)
		for j := range i {
			if p, ok := sharedAddress(places[i], places[j]); ok {
				return fmt.Errorf("the endpoints %s and %s are the same server, %s; give one of them", endpoints[j], e, p)
			}
		}
	}
	return nil
}

// resolve returns the addresses of an endpoint, or nil if they are not known.
func resolve(ctx context.Context, endpoint string) map[netip.AddrPort]bool {
	host, service, err := net.SplitHostPort(endpoint)
	if err != nil {
		return nil
	}
	port, err := net.DefaultResolver.LookupPort(ctx, "tcp", service)
	if err != nil {
		return nil
	}
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil
	}
	places := map[netip.AddrPort]bool{}
	for _, a := range addresses {
		places[netip.AddrPortFrom(a.Unmap(), uint16(port))] = true
	}
	return places
}

// sharedAddress returns an address that both endpoints have, if all addresses of one endpoint also
// belong to the other endpoint. The two sets of addresses need not be equal: localhost has two
// addresses, but a server may listen on only one of them.
func sharedAddress(a, b map[netip.AddrPort]bool) (shared netip.AddrPort, ok bool) {
	common := 0
	for p := range a {
		if b[p] {
			common++
			shared = p
		}
	}
	return shared, common > 0 && (common == len(a) || common == len(b))
}
