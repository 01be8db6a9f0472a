package fault

import (
	"context"
	"slices"

	"github.com/quorumbench/quorumbench/internal/run/host/network"
	"github.com/quorumbench/quorumbench/internal/scenario/fault"
)

// badLinks returns the action that injects a fault into network links. The function `between`
// returns the affected links, and the function `link` returns the fault to inject into each of
// them.
func badLinks(between func(*injection) []ends, link func(*fault.Happening) network.Link) *action {
	return &action{
		begin: func(ctx context.Context, o *injection) error {
			return o.setLinks(ctx, faults(between(o), o.what.Direction, link(o.what)))
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

func cut(*fault.Happening) network.Link { return network.Link{Cut: true} }

// ends contains the names of the two ends of a link. The field `of` is the end at the fault's
// member, or in the first of two parts of the cluster. The field `other` is the opposite end.
type ends struct{ of, other string }

// faults returns the network faults for the given links, in one or both directions.
func faults(between []ends, d fault.Direction, l network.Link) (all []network.Fault) {
	for _, e := range between {
		if d != fault.Inwards {
			all = append(all, network.Fault{From: e.of, To: e.other, Link: l})
		}
		if d != fault.Outwards {
			all = append(all, network.Fault{From: e.other, To: e.of, Link: l})
		}
	}
	return all
}

// around returns the links between each of the fault's members and all other members, the clients,
// or both, depending on the traffic that the fault affects.
func around(o *injection) (all []ends) {
	peers, clients := o.what.AffectedTraffic()
	for _, m := range o.members {
		if clients {
			all = append(all, ends{m, network.Clients})
		}
		for _, other := range o.all {
			if peers && other != m {
				all = append(all, ends{m, other})
			}
		}
	}
	return all
}

// halves returns the links between two parts of the cluster. The fault's member is in the smaller
// part, or in one of two equal parts.
func halves(o *injection) []ends {
	otherMembers := o.otherMembers()
	with := len(o.all)/2 - 1 // number of other members in the part of the fault's member
	return across(append([]string{o.members[0]}, otherMembers[:with]...), otherMembers[with:])
}

// othersHalves divides all members except the fault's member into two halves, and returns the links
// between these halves.
func othersHalves(o *injection) []ends {
	otherMembers := o.otherMembers()
	return across(otherMembers[:len(otherMembers)/2], otherMembers[len(otherMembers)/2:])
}

// otherMembers returns all members except the fault's first member.
func (o *injection) otherMembers() []string {
	return slices.DeleteFunc(slices.Clone(o.all), func(m string) bool { return m == o.members[0] })
}

func across(these, those []string) (all []ends) {
	for _, a := range these {
		for _, b := range those {
			all = append(all, ends{a, b})
		}
	}
	return all
}
