package store

import (
	"fmt"
	"slices"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// CheckOneCluster returns an error that names two endpoints when the members that
// answered belong to different clusters. Members whose store tells neither a cluster's
// number nor its peers are taken to be of one cluster.
func CheckOneCluster(members []Member) error {
	for i := range members {
		for j := range i {
			a, b := &members[j], &members[i]
			if a.Err != nil || b.Err != nil {
				continue
			}
			if why := differ(a, b); why != "" {
				return fmt.Errorf("the endpoints %s and %s belong to two clusters (%s); give the endpoints of one cluster", a.Endpoint, b.Endpoint, why)
			}
		}
	}
	return nil
}

// differ returns why two members cannot belong to one cluster; empty if they can.
func differ(a, b *Member) string {
	switch {
	case a.Cluster != "" && b.Cluster != "":
		if a.Cluster != b.Cluster {
			return a.Cluster + " and " + b.Cluster
		}
		return ""
	case len(a.Peers) > 0 && len(b.Peers) > 0 && !slices.ContainsFunc(a.Peers, func(p string) bool { return slices.Contains(b.Peers, p) }):
		return fmt.Sprintf("the first has the peer %s, the second %s, and they have no peer in common", a.Peers[0], b.Peers[0])
	case (a.Cluster != "") != (b.Cluster != ""):
		if a.Cluster == "" {
			a, b = b, a
		}
		if len(b.Peers) > 0 || b.Role == kv.Follower {
			return a.Cluster + " and a member of an ensemble"
		}
	case a.Role == kv.Leader && b.Role == kv.Leader && a.ID != b.ID && a.Term == b.Term:
		return "both lead at the same time"
	}
	return ""
}
