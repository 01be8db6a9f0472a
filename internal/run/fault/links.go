package fault

import (
	"context"
	"slices"

	"github.com/quorumbench/quorumbench/internal/run/host/network"
	"github.com/quorumbench/quorumbench/internal/scenario/fault"
)

// badLinks gives links between ends a fault, and takes it away again.
func badLinks(between func(*one) []ends, link func(*fault.Happening) network.Link) *action {
	return &action{
		begin: func(ctx context.Context, o *one) error {
			return o.setLinks(ctx, faults(between(o), o.what.Direction, link(o.what)))
		},
		heal:   func(ctx context.Context, o *one) error { return o.setLinks(ctx, nil) },
		healed: "given links in order",
	}
}

func (o *one) setLinks(ctx context.Context, all []network.Fault) error {
	n, err := o.Cluster.Network()
	if err != nil {
		return err
	}
	return n.Set(ctx, all)
}

func cut(*fault.Happening) network.Link { return network.Link{Cut: true} }

// ends are those of a link: one of the fault's, and the one across.
type ends struct{ of, other string }

// faults are those of the links between ends, both ways or one.
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

// around are the links of the fault's members with whom it is about.
func around(o *one) (all []ends) {
	peers, clients := o.what.Among()
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

// halves are the links between two parts of the cluster, of which the smaller one has
// the fault's member.
func halves(o *one) []ends {
	others := o.others()
	with := len(o.all)/2 - 1 // as many besides the member
	return across(append([]string{o.members[0]}, others[:with]...), others[with:])
}

// othersHalves are the links between two parts of the members besides the fault's.
func othersHalves(o *one) []ends {
	others := o.others()
	return across(others[:len(others)/2], others[len(others)/2:])
}

// others are the members besides the fault's first.
func (o *one) others() []string {
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
