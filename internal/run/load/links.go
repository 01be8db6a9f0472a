package load

import (
	"cmp"
	"maps"
	"slices"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/run/load/engine"
)

// linksOf says what happened to the connections of all loops, by endpoint: the
// given ones first. count is how many there were when the window opened, and the
// changes' times are since then.
func linksOf(count map[string]int, changes []engine.LinkChange, endpoints []string) []measure.Link {
	slices.SortStableFunc(changes, func(a, b engine.LinkChange) int { return cmp.Compare(a.At, b.At) })
	count = maps.Clone(count)
	for _, c := range changes {
		count[c.Endpoint] += 0
	}
	var order []string
	for _, endpoint := range append(slices.Clone(endpoints), slices.Sorted(maps.Keys(count))...) {
		if _, ok := count[endpoint]; ok && !slices.Contains(order, endpoint) {
			order = append(order, endpoint)
		}
	}
	var links []measure.Link
	for _, endpoint := range order {
		links = append(links, linkOf(endpoint, count[endpoint], changes))
	}
	return links
}

// linkOf walks through the changes of one endpoint's connections.
func linkOf(endpoint string, connections int, changes []engine.LinkChange) measure.Link {
	link := measure.Link{Endpoint: endpoint, Connections: connections, Fewest: connections, LostAt: -1, BackAt: -1}
	now := connections
	for _, c := range changes {
		if c.Endpoint != endpoint {
			continue
		}
		before := now
		now += c.Delta
		if c.Lost {
			link.Lost++
		}
		at := max(float64(c.At)/1e9, 0)
		link.Fewest = min(link.Fewest, now)
		switch {
		case now < connections && before >= connections:
			if link.LostAt < 0 {
				link.LostAt = at
			}
			link.BackAt = -1
		case now >= connections && before < connections:
			link.BackAt = at
		}
	}
	return link
}
