package etcdv2

import (
	"context"
	"errors"
	"net/http"
)

// UserUnchecked implements store.Admin: members tell everybody whether authentication
// is on.
func (a *admin) UserUnchecked(ctx context.Context) (string, error) {
	var errs []error
	for _, e := range a.access.Endpoints {
		var auth struct{ Enabled *bool }
		_, err := a.call(ctx, http.MethodGet, e, "/v2/auth/enable", &auth)
		switch {
		case err != nil:
			errs = append(errs, err)
		case auth.Enabled != nil && !*auth.Enabled:
			return "authentication is off in this cluster", nil
		default:
			return "", nil
		}
	}
	return "", errors.Join(errs...)
}
