package store

// Grants has the names of the leases, or sessions, that a load's operations were granted,
// so that they can be ended whatever becomes of the load. It belongs to one goroutine. The
// nil Grants takes nothing.
type Grants struct{ names []string }

// MostGrants is how many are kept: of more, which a recording alone can have, the rest
// ends by itself.
const MostGrants = 1 << 20

// Add takes the name of a lease.
func (g *Grants) Add(name string) {
	if g != nil && len(g.names) < MostGrants {
		g.names = append(g.names, name)
	}
}

// Names are those that were added.
func (g *Grants) Names() []string {
	if g == nil {
		return nil
	}
	return g.names
}
