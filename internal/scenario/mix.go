package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario/file"
	"github.com/quorumbench/quorumbench/internal/text"
)

// mixValue returns the parameter for the operations of a load. In a flag, the operations have the
// form put=20,get=80. If reads have different consistency levels, each level follows its operation
// after a colon, as in get:local=40.
func mixValue() value {
	return typedValue[[]Operation]{
		field: func(l *Load) *[]Operation { return &l.Mix }, placeholder: "OPERATION=WEIGHT,...", boundsText: "weights from 1e-9 to 1e9", fileSchema: mixSchema,
		fromText: parseMix, format: mixText, toJSON: encodeMix, fromJSON: decodeMix,
	}
}

func parseMix(s string) (mix []Operation, err error) {
	for part := range strings.SplitSeq(s, ",") {
		named, weight, weighted := strings.Cut(strings.TrimSpace(part), "=")
		kind, level, hasLevel := strings.Cut(named, ":")
		o := Operation{Weight: 1}
		if o.Kind, err = kv.ParseKind(kind); err != nil {
			return nil, err
		}
		if hasLevel {
			if o.Consistency, err = kv.ParseConsistency(level); err != nil {
				return nil, err
			}
			if !o.Kind.Reads() {
				return nil, fmt.Errorf("consistency applies only to reads, and %s is not a read; omit the consistency", o.Kind)
			}
		}
		if weighted {
			if o.Weight, err = text.ParseNumber(weight); err != nil {
				return nil, err
			}
		}
		mix = append(mix, o)
	}
	return mix, nil
}

// mixText formats the operations, with weights if there are several operations.
func mixText(mix []Operation) string {
	parts := make([]string, 0, len(mix))
	for _, o := range mix {
		text := o.label()
		if len(mix) > 1 {
			text += fmt.Sprintf(" %g", o.Weight)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// mixEntry is an operation of a mix in the form that files and records use.
type mixEntry struct {
	Operation   string  `json:"operation"`
	Consistency string  `json:"consistency,omitempty"`
	Weight      float64 `json:"weight"`
}

func encodeMix(mix []Operation) any {
	out := []mixEntry{}
	for _, o := range mix {
		out = append(out, mixEntry{o.Kind.String(), o.Consistency.String(), o.Weight})
	}
	return out
}

func decodeMix(b json.RawMessage) (mix []Operation, err error) {
	var entries []mixEntry
	if err := json.Unmarshal(b, &entries); err != nil {
		return nil, err
	}
	for _, e := range entries {
		o := Operation{Weight: e.Weight}
		var kind, level error
		o.Kind, kind = kv.ParseKind(e.Operation)
		if e.Consistency != "" {
			o.Consistency, level = kv.ParseConsistency(e.Consistency)
		}
		if err := errors.Join(kind, level); err != nil {
			return nil, err
		}
		mix = append(mix, o)
	}
	return mix, nil
}

// setOperation reads the operation of a load with a single operation.
func setOperation(d *draft, key string, n *file.Node) error {
	k, err := file.ParseWord(n, key, kv.ParseKind)
	d.load.Mix, d.mixPositions = []Operation{{Kind: k, Weight: 1}}, []file.Position{n.Pos}
	return err
}

// setMix reads the operations of a load: a mapping from operations to weights, or a list.
func setMix(d *draft, key string, n *file.Node) (err error) {
	d.load.Mix, d.mixPositions = nil, nil
	if n.FromFlag {
		d.load.Mix, err = parseMix(n.Text)
		d.mixPositions = make([]file.Position, len(d.load.Mix))
		return err
	}
	switch n.Kind {
	case file.Mapping:
		for _, p := range n.Pairs {
			k, err := file.ParseWord(&file.Node{Kind: file.Scalar, Text: p.Key, Pos: p.Pos}, key, kv.ParseKind)
			if err != nil {
				return err
			}
			weight, err := readWeight(p.Value)
			if err != nil {
				return err
			}
			d.load.Mix, d.mixPositions = append(d.load.Mix, Operation{Kind: k, Weight: weight}), append(d.mixPositions, p.Pos)
		}
	case file.List:
		for _, item := range n.Items {
			o, err := readOperation(item)
			if err != nil {
				return err
			}
			d.load.Mix, d.mixPositions = append(d.load.Mix, o), append(d.mixPositions, item.Pos)
		}
	default:
		return n.Pos.Errorf("mix must be a mapping such as {put: 20, get: 80}, or a list, not %s", n.Describe())
	}
	if len(d.load.Mix) == 0 {
		return n.Pos.Errorf("the mix has no operation; list at least one")
	}
	return nil
}

func readOperation(n *file.Node) (Operation, error) {
	o, named := Operation{Weight: 1}, false
	err := n.Fields("an entry of mix", map[string]func(*file.Node) error{
		"operation": func(n *file.Node) (err error) {
			o.Kind, err = file.ParseWord(n, "operation", kv.ParseKind)
			named = true
			return err
		},
		"consistency": func(n *file.Node) (err error) {
			o.Consistency, err = file.ParseWord(n, "consistency", kv.ParseConsistency)
			return err
		},
		"weight": func(n *file.Node) (err error) { o.Weight, err = readWeight(n); return err },
	})
	switch {
	case err != nil:
		return o, err
	case !named:
		return o, n.Pos.Errorf("an entry of mix needs the key \"operation\"")
	case o.Consistency != kv.NoConsistency && !o.Kind.Reads():
		return o, n.Pos.Errorf("consistency applies only to reads, and %s is not a read; omit the consistency", o.Kind)
	}
	return o, nil
}

func readWeight(n *file.Node) (float64, error) {
	w, err := n.Number("a weight")
	if err == nil && !(w >= minWeight && w <= maxWeight) {
		return 0, n.Pos.Errorf("a weight is %s, but must be from %s to %s", n.Text, text.FormatNumber(minWeight), text.FormatNumber(maxWeight))
	}
	return w, err
}
