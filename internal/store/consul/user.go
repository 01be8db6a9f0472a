package consul

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/hashicorp/consul/api"
)

// UserUnchecked implements store.Admin: an agent without ACLs refuses to describe the
// token that it was given.
func (a *admin) UserUnchecked(ctx context.Context) (string, error) {
	c, err := a.first(ctx)
	if err != nil {
		return "", err
	}
	var answer api.StatusError
	_, _, err = c.ACL().TokenReadSelf((&api.QueryOptions{}).WithContext(ctx))
	if errors.As(err, &answer) && answer.Code == http.StatusUnauthorized && strings.Contains(answer.Body, "ACL support disabled") {
		return "ACLs are off in this cluster", nil
	}
	return "", err
}
