package kubernetes

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// removeTimeout is the maximum time for which removeJob requests the removal. It is also how long
// the removal of agents may take.
const removeTimeout = time.Minute

// removeJob removes a Job of a run, and everything that the Job owns. It waits until the run has no
// objects of the given kinds, but at most for the time `wait`.
func (a *api) removeJob(wait time.Duration, name, run string, kinds ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	requested, stop := context.WithTimeout(ctx, removeTimeout)
	defer stop()
	if err := a.requestRemoval(requested, name); err != nil {
		return fmt.Errorf("the API did not accept the removal: %w", err)
	}
	var last error
	for {
		err := a.checkRemoved(ctx, run, kinds)
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil {
			last = err
		}
		if isForbidden(err) || !measure.Pause(ctx, pollInterval) {
			return fmt.Errorf("the removal was requested, but %w", last)
		}
	}
}

// requestRemoval requests that Kubernetes removes a Job and everything that it owns. It repeats the
// request until the API accepts or rejects it, or until ctx ends.
func (a *api) requestRemoval(ctx context.Context, job string) error {
	endpoint := a.path("jobs", job)
	endpoint.RawQuery = url.Values{"propagationPolicy": {"Foreground"}}.Encode()
	for {
		err := a.ask(ctx, http.MethodDelete, endpoint, "", nil, nil)
		switch {
		case isNotFound(err):
			return nil
		case err == nil || isRefused(err) || !measure.Pause(ctx, pollInterval):
			return err
		}
	}
}

// checkRemoved returns an error if an object of a run exists, or if its existence is unknown.
func (a *api) checkRemoved(ctx context.Context, run string, kinds []string) error {
	for _, kind := range kinds {
		var list struct{ Items []struct{ Metadata metadata } }
		if err := a.list(ctx, kind, labelSelector, runLabel+"="+run, &list); err != nil {
			return fmt.Errorf("its result is unknown: %w", err)
		}
		if len(list.Items) > 0 {
			return fmt.Errorf("%s/%s still exists", kind, list.Items[0].Metadata.Name)
		}
	}
	return nil
}

// pollInterval is the interval between two requests while we wait for a change of an object.
const pollInterval = 500 * time.Millisecond
