package chart

import (
	"encoding/xml"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
)

// Every client has a bar. The bar has the right height, and its tooltip shows the number of
// operations. The picture is well-formed even if a client completed no operations or all of them.
func TestClientsHaveABarEach(t *testing.T) {
	for _, operations := range [][]uint64{{0, 5}, {1000, 1000, 1000}, {0, 0, 0, 7}} {
		sum := uint64(0)
		for _, n := range operations {
			sum += n
		}
		c := Clients(&analyze.ClientsCurve{Clients: len(operations), Operations: operations, Mean: float64(sum) / float64(len(operations))})
		if got := strings.Count(c.SVG, `class="bar"`); got != len(operations) {
			t.Errorf("%v: %d bars", operations, got)
		}
		if err := xml.Unmarshal([]byte(c.File("a run", "")), new(struct{})); err != nil {
			t.Errorf("%v: %v", operations, err)
		}
		if operations[0] == 0 && !strings.Contains(c.SVG, `M0 150h100V150h-100z"><title>0 operations</title>`) {
			t.Errorf("the chart has no empty bar for a client without operations: %s", c.SVG)
		}
	}
}
