package consul

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/consul/api"
)

// The limits that Consul sets for a session's TTL
// (https://developer.hashicorp.com/consul/api-docs/session#ttl).
const (
	minTTL = 10 * time.Second
	maxTTL = 24 * time.Hour
)

// maxConcurrentSessions is how many sessions are created or destroyed concurrently.
const maxConcurrentSessions = 8

// Grant implements store.Leaser. The sessions have no health checks, so only the TTL can end them.
// A session's number is the first 60 bits of its UUID.
func (a *admin) Grant(ctx context.Context, n int, ttl time.Duration) ([]int64, error) {
	seconds := (min(max(ttl, minTTL), maxTTL) + time.Second - 1) / time.Second
	entry := api.SessionEntry{TTL: fmt.Sprintf("%ds", seconds), Behavior: api.SessionBehaviorRelease}
	ids := make([]int64, n)
	err := a.runConcurrently(ctx, n, func(ctx context.Context, c *api.Client, i int) error {
		mine := entry
		id, _, err := c.Session().CreateNoChecks(&mine, (&api.WriteOptions{}).WithContext(ctx))
		if err != nil {
			return err
		}
		ids[i] = a.keepSession(id)
		return nil
	})
	if err == nil {
		return ids, nil
	}
	made := ids[:0]
	for _, id := range ids {
		if id != 0 {
			made = append(made, id)
		}
	}
	return made, fmt.Errorf("only %d of %d Consul sessions were created: %w", len(made), n, withoutURL(err))
}

// withoutURL removes the request's URL from an error. The URL may be long if a server has
// redirected the request to a URL of its choice.
func withoutURL(err error) error {
	var failed *url.Error
	if errors.As(err, &failed) {
		return failed.Err
	}
	return err
}

// Revoke implements store.Leaser.
func (a *admin) Revoke(ctx context.Context, ids []int64) error {
	names := a.LeaseNames(ids)
	var gone atomic.Int64
	err := a.runConcurrently(ctx, len(names), func(ctx context.Context, c *api.Client, i int) error {
		_, err := c.Session().Destroy(names[i], (&api.WriteOptions{}).WithContext(ctx))
		if err == nil {
			gone.Add(1)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("only %d of %d Consul sessions were destroyed: %w", gone.Load(), len(ids), withoutURL(err))
	}
	return nil
}

// keepSession stores a session's name and returns the session's number.
func (a *admin) keepSession(id string) int64 {
	digits := strings.ReplaceAll(id, "-", "")
	first, _ := strconv.ParseUint(digits[:min(numberDigits, len(digits))], 16, 64) // any number is suitable
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sessions == nil {
		a.sessions = map[int64]string{}
	}
	number := int64(max(first, 1))
	for a.sessions[number] != "" {
		number++
	}
	a.sessions[number] = id
	return number
}

// numberDigits is how many hexadecimal digits of a UUID are used for a session's number.
const numberDigits = 15

// LeaseNames implements store.Leaser.
func (a *admin) LeaseNames(ids []int64) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = a.sessions[id]
	}
	return names
}

// runConcurrently calls the function do for 0 to n-1 concurrently and uses the endpoints in turn.
// After an error it starts no further calls, waits for the running calls, and returns the error.
func (a *admin) runConcurrently(ctx context.Context, n int, do func(ctx context.Context, c *api.Client, i int) error) error {
	var (
		workers sync.WaitGroup
		next    atomic.Int64
		failed  = make(chan error, maxConcurrentSessions)
		stop    atomic.Bool
	)
	for range min(n, maxConcurrentSessions) {
		workers.Go(func() {
			for !stop.Load() {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				asked, cancel := context.WithTimeout(ctx, a.timeout)
				err := do(asked, a.clients[i%len(a.clients)], i)
				cancel()
				if err != nil {
					stop.Store(true)
					failed <- err
					return
				}
			}
		})
	}
	workers.Wait()
	select {
	case err := <-failed:
		return errors.Join(err, context.Cause(ctx))
	default:
		return context.Cause(ctx)
	}
}
