package null

import (
	"fmt"
	"strings"
	"time"
)

// String returns the script as text that Parse reads back, for the record.
func (s *Script) String() string {
	var b strings.Builder
	say := func(format string, args ...any) {
		if b.Len() > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, format, args...)
	}
	if s.Mode != Speaks {
		say("mode=%s", [...]string{"", "garbage", "http1", "silent"}[s.Mode])
	}
	if s.Seed != 0 {
		say("seed=%d", s.Seed)
	}
	for _, d := range s.Delays {
		say("delay=%s", d)
	}
	for _, stall := range s.Stalls {
		say("stall=%s@%s", stall.Length, stall.Start)
	}
	for _, r := range s.Rules {
		say("%s", r)
	}
	for _, at := range s.Closes {
		say("close@%s", at)
	}
	for _, r := range s.Events {
		say("%s", r)
	}
	if s.GoAway != 0 {
		say("goaway every %d", s.GoAway)
	}
	if s.Chunk != 0 {
		say("chunk=%d%s", s.Chunk, pause(s.Pause))
	}
	if s.Lag != 0 {
		say("lag=%s", s.Lag)
	}
	if s.NoLocal {
		say("refuse=local")
	}
	return b.String()
}

func pause(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return "/" + d.String()
}

// String returns the delay as Parse reads it after "delay=".
func (d Delay) String() string {
	var text string
	switch d.Distribution {
	case Uniform:
		text = fmt.Sprintf("uniform(%s,%s)", d.Low, d.High)
	case Exponential:
		text = fmt.Sprintf("exponential(%s)", d.Low)
	default:
		text = d.Low.String()
	}
	if d.Every > 1 {
		text += fmt.Sprintf(" every %d", d.Every)
	}
	return text
}

// String returns the rule as Parse reads it.
func (r Rule) String() string {
	name := [NumKinds]string{
		"answer", "error=" + r.Name, "never", "close", "wrong=key", "wrong=value",
		"half", "huge=frame", "huge=message", "reset=" + r.Name,
	}[r.Kind]
	return fmt.Sprintf("%s every %d", name, r.Every)
}
