package scenario

import (
	"cmp"
	"strconv"
)

// Differ names the first parameter by which two loads are not the same, and its
// values; empty where they are. Rates that are shares of another trial's
// throughput are the same if they are of the same trial.
func Differ(a, b *Load) (what, ofA, ofB string) {
	if a.Rate.Of != b.Rate.Of {
		return "the trial whose throughput the rate follows", a.Rate.Of, b.Rate.Of
	}
	for _, p := range Parameters() {
		if p.Differs == "" || p.ClosedLoop && a.Arrival != Closed && b.Arrival != Closed {
			continue
		}
		if ofA, ofB := p.compared(a), p.compared(b); ofA != ofB {
			return p.Differs, ofA, ofB
		}
	}
	return "", "", ""
}

// compared is a parameter as it is compared.
func (p *Parameter) compared(l *Load) string {
	switch text := p.Text(l); {
	case p.Key == "rate" && l.Rate.Of != "":
		return ""
	case p.Key == "watch.watched-keys" && l.Watch != nil:
		return strconv.FormatUint(cmp.Or(l.Watch.WatchedKeys, l.KeySpace), 10)
	case text == "0", text == "0s":
		return ""
	default:
		return text
	}
}
