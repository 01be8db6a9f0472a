package cluster

// Dirs returns the cluster's data folders on the hosts, in the order of Spec.Hosts.
func (c *Cluster) Dirs() []string {
	out := make([]string, len(c.places))
	for i, p := range c.places {
		out[i] = p.data.Path()
	}
	return out
}
