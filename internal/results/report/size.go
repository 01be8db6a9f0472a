package report

import (
	"fmt"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/size"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Sizes reports, for each cluster, how much of its capacity a load uses.
func Sizes(all []*size.Sized) Finding {
	return Finding{
		parts: func(out layout) {
			for i, s := range all {
				if i > 0 {
					out.blank()
				}
				sizeParts(out, s)
			}
		},
		object: func() any {
			list := make([]record.Object, 0, len(all))
			for _, s := range all {
				list = append(list, sizeObject(s))
			}
			return record.Object{{Name: "sizes", Value: list}}
		},
	}
}

func sizeParts(out layout, s *size.Sized) {
	line := func(words string) string { return text.Line(words, text.MaxOutput) }
	t := s.Curve.First
	out.addLines(line(fmt.Sprintf("%s of %s on %s, %s: %s", text.PerSecond(s.Load.Rate), analyze.Headline(t), analyze.Store(t), text.Plural(uint64(max(t.Members, 0)), "member"), fitSentence(s))))
	out.addLines(line(firstSentence(s)))
	uses := usesTable(s)
	uses.Heading = "Resource use of the load and at the capacity"
	out.table(uses)
	var lines []string
	for i := range s.Uses {
		u := &s.Uses[i]
		words := u.Resource + ": " + u.Method
		if u.Source != "" {
			words += " (" + u.Source + ")"
		}
		lines = append(lines, line(words+"."))
	}
	out.list("Sources", lines)
	lines = nil
	for _, a := range s.Advice {
		lines = append(lines, line(fmt.Sprintf("%s: %s (%s)", a.Topic, a.Text, a.Source)))
	}
	out.list("Recommendations from the store's documentation", lines)
	lines = nil
	for _, n := range s.Notes {
		lines = append(lines, line(n+"."))
	}
	if len(lines) > 0 {
		lines = append(lines, "the capacity was recorded in "+line(s.Run.Dir)+".")
	}
	out.list("Notes", lines)
}

// fitSentence describes whether the cluster can carry the load.
func fitSentence(s *size.Sized) string {
	f := s.Curve
	between := "at least " + text.PerSecond(f.LowerPerSecond)
	if f.UpperPerSecond != nil {
		between = text.JoinRange(text.PerSecond(f.LowerPerSecond), text.PerSecond(*f.UpperPerSecond))
	}
	of := fmt.Sprintf("of the capacity for %s (%s)", f.Objective, between)
	switch canCarry(s) {
	case true:
		share := s.ShareOf(f.LowerPerSecond)
		if f.UpperPerSecond == nil {
			return fmt.Sprintf("yes, the cluster can carry this load: it is at most %s %s.", text.Percent(share, 0), of)
		}
		return fmt.Sprintf("yes, the cluster can carry this load: it is %s %s.", text.Percent(share, 0), of)
	case false:
		return fmt.Sprintf("no, the cluster cannot carry this load: it is at least %s %s.", text.Percent(s.ShareOf(*f.UpperPerSecond), 0), of)
	}
	if f.UpperPerSecond == nil {
		return fmt.Sprintf("unknown: the rate is above the capacity that is known for %s (%s). Repeat the search for the capacity up to that rate.", f.Objective, between)
	}
	return fmt.Sprintf("unknown: the rate is within the interval %s. A longer search makes the interval narrower.", of)
}

// firstSentence describes which limit a growing load reaches first, and at which rate.
func firstSentence(s *size.Sized) string {
	if s.FirstExhausted < 0 {
		return "First limit that a growing load reaches: unknown."
	}
	u := &s.Uses[s.FirstExhausted]
	words := fmt.Sprintf("First limit that a growing load reaches: %s", u.Resource)
	switch {
	case u.ExhaustedAt <= 0:
		words += ", already exceeded"
	case u.ExhaustedAt < s.Load.Rate && u.Resource != size.UseObjective:
		words += fmt.Sprintf(", already at %s", text.PerSecond(u.ExhaustedAt))
	default:
		words += fmt.Sprintf(", at %s", text.PerSecond(u.ExhaustedAt))
	}
	if s.NearestToLimit >= 0 && s.NearestToLimit != s.FirstExhausted {
		near := &s.Uses[s.NearestToLimit]
		share, _ := near.ShareAtCapacity()
		words += fmt.Sprintf("; next resource: %s (at %s of its limit when the capacity is reached)", near.Resource, text.Percent(share, 0))
	}
	return words + "."
}

func usesTable(s *size.Sized) *Table {
	t := &Table{Columns: []analyze.Column{{Title: "resource", LeftAligned: true}, {Title: "used"}, {Title: "limit"}, {Title: "share"}, {Title: "at capacity"}, {Title: "share at capacity"}, {Title: "full at"}}}
	for i := range s.Uses {
		u := &s.Uses[i]
		limit, share, there, full := text.Dash, text.Dash, text.Dash, text.Dash
		if x, ok := u.Share(); ok {
			limit, share = amount(u.Limit, u), text.WholePercent(x)
		}
		if x, ok := u.ShareAtCapacity(); ok {
			there = text.WholePercent(x)
		}
		if u.ExhaustedAt > 0 {
			full = text.PerSecond(u.ExhaustedAt)
		}
		t.add(u.Resource, amount(u.Used, u), limit, share, amount(u.AtCapacity, u), there, full)
	}
	return t
}

// amount formats the use of a resource with its unit.
func amount(x float64, u *size.Use) string {
	if !size.IsKnown(x) {
		return text.Dash
	}
	words := u.Unit.Quantity(x)
	if u.PerSecond {
		words += "/s"
	}
	return words
}

func sizeObject(s *size.Sized) (o record.Object) {
	t, f := s.Curve.First, s.Curve
	o.Add("store", t.Store)
	o.Add("version", t.Version)
	o.Add("members", t.Members)
	o.Add("rate_per_second", s.Load.Rate)
	o.Add("value_size", s.Load.ValueSize)
	o.Add("objective", f.Objective)
	o.Add("lower_per_second", f.LowerPerSecond)
	o.Add("upper_per_second", f.UpperPerSecond)
	o.Add("carried", canCarry(s))
	first := ""
	if s.FirstExhausted >= 0 {
		first = s.Uses[s.FirstExhausted].Resource
	}
	o.Add("first", first)
	uses := make([]record.Object, 0, len(s.Uses))
	for i := range s.Uses {
		uses = append(uses, useObject(&s.Uses[i]))
	}
	o.Add("uses", uses)
	advice := make([]record.Object, 0, len(s.Advice))
	for _, a := range s.Advice {
		advice = append(advice, record.Object{{Name: "topic", Value: a.Topic}, {Name: "text", Value: a.Text}, {Name: "source", Value: a.Source}})
	}
	o.Add("advice", advice)
	o.Add("notes", orEmpty(s.Notes))
	o.Add("run_directory", s.Run.Dir)
	return o
}

// canCarry returns true if the cluster can carry the load, false if it cannot, and nil if this is
// not known.
func canCarry(s *size.Sized) any {
	switch f := s.Curve; {
	case s.Load.Rate <= f.LowerPerSecond:
		return true
	case f.UpperPerSecond != nil && s.Load.Rate > *f.UpperPerSecond:
		return false
	}
	return nil
}

// useObject returns the fields about the use of a resource. Unknown values are null.
func useObject(u *size.Use) (o record.Object) {
	o.Add("what", u.Resource)
	o.Add("used", numberOrNil(u.Used, size.IsKnown(u.Used)))
	o.Add("limit", numberOrNil(u.Limit, u.Limit > 0))
	o.Add("share", numberOrNil(u.Share()))
	o.Add("used_at_capacity", numberOrNil(u.AtCapacity, size.IsKnown(u.AtCapacity)))
	o.Add("share_at_capacity", numberOrNil(u.ShareAtCapacity()))
	o.Add("full_at_per_second", numberOrNil(u.ExhaustedAt, u.ExhaustedAt > 0))
	o.Add("text", u.Method)
	o.Add("source", u.Source)
	return o
}
