package load

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
)

// check is Worker.Check: a read of the load's first key, at each level that the
// load or its preload reads at. A load that only writes needs no read: what
// counts is then that the server answers one, and not how.
func (p *plan) check(ctx context.Context) error {
	if err := distinct(ctx, p.Endpoints); err != nil {
		return err
	}
	l := p.Load
	if k := l.Mix[0].Kind; k == kv.STM || k == kv.KeepAlive || p.script != nil { // what those need is not there yet
		l.Mix = []scenario.Operation{{Kind: kv.Get, Weight: 1}}
	}
	src, err := newSource(&l)
	if err != nil {
		return err
	}
	var first store.Op
	src.Fill(measure.Measured, 0, 0, &first)
	levels := readAt(&p.Load, p.store.Capabilities().Strongest())
	for _, endpoint := range p.Endpoints {
		if len(levels) == 0 {
			if err := p.answers(ctx, endpoint, &first); err != nil {
				return err
			}
		}
		for _, level := range levels {
			if err := p.reads(ctx, endpoint, &store.Op{Kind: kv.Get, Consistency: level, Key: first.Key}); err != nil {
				return err
			}
		}
	}
	return nil
}

// readAt is the levels at which the load and its preload read, which is strong.
func readAt(l *scenario.Load, strongest kv.Consistency) (levels []kv.Consistency) {
	if l.Preload || has(l, kv.STM) {
		levels = append(levels, strongest)
	}
	for _, o := range l.Mix {
		if o.Kind.Reads() && !slices.Contains(levels, o.Consistency) {
			levels = append(levels, o.Consistency)
		}
	}
	return levels
}

// reads asks an endpoint for a read that it must answer.
func (p *plan) reads(ctx context.Context, endpoint string, op *store.Op) error {
	ev, err := p.ask(ctx, endpoint, op)
	if err != nil && p.alive(ctx, endpoint, op, &ev) {
		return nil
	}
	if err != nil && ev.Outcome.Failed() {
		return fmt.Errorf("%s does not answer a read: %s", endpoint, cmp.Or(string(ev.Text), ev.Outcome.String()))
	}
	return err
}

// alive reports whether a server that did not answer a strong read lacks no more
// than the others: it serves a local one. What a load meets there is then the
// load's to measure, as it is at a member that is cut off.
func (p *plan) alive(ctx context.Context, endpoint string, op *store.Op, ev *store.Event) bool {
	switch ev.Outcome {
	case kv.Denied, kv.BadRequest:
		return false
	}
	if _, ok := p.store.Capabilities().Reads[kv.Local]; !ok || op.Consistency == kv.Local || ctx.Err() != nil {
		return false
	}
	_, err := p.ask(ctx, endpoint, &store.Op{Kind: kv.Get, Consistency: kv.Local, Key: op.Key})
	return err == nil
}

// answers asks an endpoint for a read, which it may refuse. One that denies the
// user that may yet let him write, so the load's first operation is asked then,
// if it is a put: the load does it anyway.
func (p *plan) answers(ctx context.Context, endpoint string, first *store.Op) error {
	op := &store.Op{Kind: kv.Get, Consistency: p.store.Capabilities().Strongest(), Key: first.Key}
	ev, err := p.ask(ctx, endpoint, op)
	switch {
	case err == nil, p.alive(ctx, endpoint, op, &ev), ev.Outcome.Failed() && ev.Outcome != kv.Denied:
		return nil
	case ev.Outcome == kv.Denied && first.Kind == kv.Put:
		_, err = p.ask(ctx, endpoint, first)
	}
	return err
}

// distinct refuses endpoints that are the same server under two names, such as
// localhost:2379 and 127.0.0.1:2379: it would count as two members. A name that
// cannot be resolved is left to the code that connects to it.
func distinct(ctx context.Context, endpoints []string) error {
	places := make([]map[netip.AddrPort]bool, len(endpoints))
	for i, e := range endpoints {
		places[i] = resolve(ctx, e)
		for j := range i {
			if p, ok := within(places[i], places[j]); ok {
				return fmt.Errorf("the endpoints %s and %s are the same server, %s: give one of them", endpoints[j], e, p)
			}
		}
	}
	return nil
}

// resolve is where an endpoint leads; empty if that is not known.
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

// within returns a place of both if all of one's are places of the other:
// localhost has two addresses, and a server may listen at one.
func within(a, b map[netip.AddrPort]bool) (one netip.AddrPort, ok bool) {
	common := 0
	for p := range a {
		if b[p] {
			common++
			one = p
		}
	}
	return one, common > 0 && (common == len(a) || common == len(b))
}
