package text_test

import (
	"math"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/text"
)

// CheckNumbers accepts plausible numbers from another machine and refuses implausible ones.
func TestCheckNumbers(t *testing.T) {
	type part struct {
		CPU     float64
		RSS     int64
		Unknown *int64
		Member  uint64
	}
	type message struct {
		Parts  []part
		ByName map[string]int
		part
	}
	one := int64(-1)
	good := message{Parts: []part{{CPU: 1e9, RSS: 1 << 50, Unknown: &one, Member: math.MaxUint64}}, ByName: map[string]int{"a": 7}}
	if err := text.CheckNumbers(&good); err != nil {
		t.Errorf("a valid message is refused: %v", err)
	}
	huge := int64(math.MaxInt64)
	for want, bad := range map[string]message{
		"CPU is 1e+308":     {Parts: []part{{}, {CPU: 1e308}}},
		"CPU is NaN":        {Parts: []part{{CPU: math.NaN()}}},
		"CPU is +Inf":       {part: part{CPU: math.Inf(1)}},
		"CPU is -1.5":       {part: part{CPU: -1.5}},
		"RSS is -9":         {Parts: []part{{RSS: -9}}},
		"Unknown is 922337": {Parts: []part{{Unknown: &huge}}},
		"ByName is -2":      {ByName: map[string]int{"a": -2}},
	} {
		if err := text.CheckNumbers(&bad); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
