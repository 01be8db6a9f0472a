package guard

import (
	"context"
	"slices"
	"strings"
)

// apiServerSpaces contains the prefixes below which Kubernetes keeps its objects and k3s keeps the
// certificates of its servers.
var apiServerSpaces = []string{"/registry/", "/kubernetes.io/", "/openshift.io/", "/bootstrap/"}

// APIServerSpace returns the first prefix of Kubernetes with which the given prefix overlaps, or "".
// An API server fails to list objects if it cannot decode one of them, and k3s does not start if
// it finds a second key below /bootstrap/.
func APIServerSpace(prefix string) string {
	for _, space := range apiServerSpaces {
		if strings.HasPrefix(space, prefix) || strings.HasPrefix(prefix, strings.TrimSuffix(space, "/")) {
			return space
		}
	}
	return ""
}

// checkAPIServer returns an error if the claim's prefix is in a part of the key space where
// Kubernetes keeps its objects, and if other keys already exist in this part. Then an API server
// may read the claim's keys as its objects. The other keys need not be below the claim's prefix.
func (g *Guard) checkAPIServer(ctx context.Context, c *claim) error {
	for _, space := range apiServerSpaces {
		isIn := func(prefix string) bool { return strings.HasPrefix(prefix, space) }
		if !isIn(c.Prefix) || slices.ContainsFunc(g.claims, func(own *claim) bool { return isIn(own.Prefix) }) {
			continue
		}
		n, _, err := g.Count(ctx, PrefixInterval(space))
		switch {
		case IsDenied(err):
			continue
		case err != nil:
			return err
		case n > 0:
			return &NotEmptyError{Prefix: c.Prefix, Running: "the API server of a Kubernetes cluster", Remedy: "choose another prefix, because the API server cannot decode keys of a load"}
		}
	}
	return nil
}
