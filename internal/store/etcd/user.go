package etcd

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// UserUnchecked implements store.Admin: it logs in once, which a member refuses where
// authentication is off.
func (a *admin) UserUnchecked(ctx context.Context) (string, error) {
	c, err := a.connected(ctx)
	if err != nil {
		return "", err
	}
	_, err = c.Authenticate(ctx, a.access.User, a.access.Password)
	switch {
	case errors.Is(err, rpctypes.ErrAuthNotEnabled):
		return "authentication is off in this cluster, and no request carried a token", nil
	case err != nil:
		return "", fmt.Errorf("the user cannot be logged in: %s", reason(ctx, err))
	}
	return "", nil
}
