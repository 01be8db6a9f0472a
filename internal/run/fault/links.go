package fault

import (
	"context"
	"slices"

	"github.com/quorumbench/quorumbench/internal/run/host/network"
	"github.com/quorumbench/quorumbench/internal/scenario/fault"
)

// badLinks returns the action that injects a fault into the links between ends.
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

// ends contains the two ends of a link: of belongs to the fault's member, and other is the opposite
// end.
type ends struct{ of, other string }

// faults returns the faults on the links between ends, in one or both directions.
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

// around returns the links between the fault's members and the ends that the fault affects.
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
// part.
func halves(o *injection) []ends {
	otherMembers := o.otherMembers()
	with := len(o.all)/2 - 1 // number of other members in its part
	return across(append([]string{o.members[0]}, otherMembers[:with]...), otherMembers[with:])
}

// othersHalves returns the links between two halves of the other members.
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
