package guard

import (
	"context"
	"errors"
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/load/engine/poll"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
)

// findRemovalObstacle returns the reason why the plan's keys cannot be removed, or nil if they can
// be removed. It does not rely only on the store's capabilities, but also asks the servers to
// delete a key that does not exist.
func (g *Guard) findRemovalObstacle(ctx context.Context, p *Plan) error {
	capabilities := g.Store.Capabilities()
	_, lists := capabilities.Operations[kv.Range]
	_, deletes := capabilities.Operations[kv.Delete]
	if !capabilities.Has(kv.PrefixDelete) && (p.KeySpace == 0 || !lists || !deletes) {
		return fmt.Errorf("%s does not remove keys", g.Store.Name())
	}
	if !deletes {
		return nil
	}
	what, guarded := "no key can be removed", true
	if !IsDistinct(p.Prefix) { // a load removes these keys (see removeByName), and it cannot send guarded transactions
		what, guarded = "keys without a prefix cannot be removed", false
	}
	if err := g.checkDeletion(ctx, string(load.ProbeKey(p.Prefix)), guarded); err != nil {
		return fmt.Errorf("%s (%w)", what, err)
	}
	return nil
}

// CannotRemove reports whether the run has claimed the prefix, but cannot remove the keys below it.
func (g *Guard) CannotRemove(prefix string) bool {
	c := g.findClaim(prefix)
	return c != nil && c.removalObstacle != nil
}

// Try sends one operation to the first endpoint that responds. It returns an error only if the
// member twice rejects the operation as not supported or not permitted, or twice closes the
// connection with a reason. Later requests would then fail as well.
func (c *Client) Try(ctx context.Context, op *store.Op) (err error) {
	for range 2 {
		if err = c.tryOnce(ctx, op); err == nil {
			return nil
		}
	}
	return err
}

func (c *Client) tryOnce(ctx context.Context, op *store.Op) error {
	for _, endpoint := range c.Access.Endpoints {
		ev, err := load.Dialer(c.Store, c.Access).RunOperation(ctx, endpoint, c.Store.Codecs(c.Access), op)
		var ended *poll.NoResponseError
		switch {
		case errors.As(err, &ended) && ended.Text != "":
			return &refusedError{endpoint, kv.ConnectionLost, ended.Text}
		case err != nil:
			continue // try the next endpoint
		case ev.Outcome == kv.BadRequest || ev.Outcome == kv.Denied:
			return &refusedError{endpoint, ev.Outcome, text.Line(string(ev.Text), text.MaxServerText)}
		}
		return nil
	}
	return nil
}

// checkDeletion returns an error if the servers cannot delete keys. To find out, it asks them to
// delete a key that does not exist. If guarded is set, it is sufficient that the servers can delete
// the key in a guarded transaction.
func (c *Client) checkDeletion(ctx context.Context, key string, guarded bool) error {
	err := c.Try(ctx, &store.Op{Kind: kv.Delete, Key: []byte(key)})
	if !isUnsupported(err) {
		return nil
	}
	if op, ok := c.guardedRemoval(key, 0); ok && guarded && !isUnsupported(c.Try(ctx, &op)) {
		return nil
	}
	return err
}
