package fault

import (
	"context"
	"slices"

	"github.com/quorumbench/quorumbench/internal/run/host/network"
	"github.com/quorumbench/quorumbench/internal/scenario/fault"
)

// linkAction returns the action that injects a fault into network links. The function `between`
// returns the affected links, and the function `link` returns the fault to inject into each of
// them.
func linkAction(between func(*injection) []linkEnds, link func(*fault.Injection) network.Link) *action {
	return &action{
		begin: func(ctx context.Context, o *injection) error {
			return o.setLinks(ctx, faults(between(o), o.happening.Direction, link(o.happening)))
		},
		heal:   func(ctx context.Context, o *injection) error { return o.setLinks(ctx, nil) },
		healed: "given working links",
	}
}

func (o *injection) setLinks(ctx context.Context, all []network.Fault) error {
	n, err := o.Cluster.Network()
	if err != nil {
		return err
	}
	return n.Set(ctx, all)
}

func cut(*fault.Injection) network.Link { return network.Link{Cut: true} }

// linkEnds contains the names of the two ends of a link. The field `near` is the end at the fault's
// member, or in the first of two parts of the cluster. The field `far` is the opposite end.
type linkEnds struct{ near, far string }

// faults returns the network faults for the given links, in one or both directions.
func faults(between []linkEnds, d fault.Direction, l network.Link) (all []network.Fault) {
	for _, e := range between {
		if d != fault.Inbound {
			all = append(all, network.Fault{From: e.near, To: e.far, Link: l})
		}
		if d != fault.Outbound {
			all = append(all, network.Fault{From: e.far, To: e.near, Link: l})
		}
	}
	return all
}

// linksOfMembers returns the links between each of the fault's members and all other members, the
// clients, or both, depending on the traffic that the fault affects.
func linksOfMembers(o *injection) (all []linkEnds) {
	peers, clients := o.happening.AffectedTraffic()
	for _, m := range o.members {
		if clients {
			all = append(all, linkEnds{m, network.Clients})
		}
		for _, other := range o.allMembers {
			if peers && other != m {
				all = append(all, linkEnds{m, other})
			}
		}
	}
	return all
}

// linksBetweenHalves returns the links between two parts of the cluster. The fault's member is in
// the smaller part, or in one of two equal parts.
func linksBetweenHalves(o *injection) []linkEnds {
	otherMembers := o.otherMembers()
	with := len(o.allMembers)/2 - 1 // number of other members in the part of the fault's member
	return linksBetween(append([]string{o.members[0]}, otherMembers[:with]...), otherMembers[with:])
}

// linksBetweenOtherHalves divides all members except the fault's member into two halves, and
// returns the links between these halves.
func linksBetweenOtherHalves(o *injection) []linkEnds {
	otherMembers := o.otherMembers()
	return linksBetween(otherMembers[:len(otherMembers)/2], otherMembers[len(otherMembers)/2:])
}

// otherMembers returns all members except the fault's first member.
func (o *injection) otherMembers() []string {
	return slices.DeleteFunc(slices.Clone(o.allMembers), func(m string) bool { return m == o.members[0] })
}

func linksBetween(firstPart, secondPart []string) (all []linkEnds) {
	for _, a := range firstPart {
		for _, b := range secondPart {
			all = append(all, linkEnds{a, b})
		}
	}
	return all
}
