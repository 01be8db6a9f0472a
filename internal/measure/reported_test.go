package measure

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// If a server invents member IDs, the invented members share one series, and no operation is lost.
func TestInventedMembersAreBounded(t *testing.T) {
	c := NewCollector(2)
	const seconds, each = 20, 16
	for i := range seconds {
		for shard := range 2 {
			s := &Second{Phase: Measured, Index: i}
			for k := range each {
				cell := &Cell{Series: Series{Kind: kv.Put, Member: uint64(1000*i + 10*k + shard + 1), Term: uint64(i + 1)}, Response: NewHistogram()}
				Record(cell.Response, 1000)
				s.Cells = append(s.Cells, cell)
			}
			c.Add(shard, s)
		}
	}
	c.End(0)
	c.End(1)
	measured, _ := c.Close(seconds)
	total, unnamed := int64(0), int64(0)
	for _, cell := range measured.Cells {
		total += cell.Response.TotalCount()
		if cell.Member == 0 {
			unnamed += cell.Response.TotalCount()
		}
	}
	if len(measured.Cells) != MaxReported+1 || total != 2*seconds*each || unnamed != total-MaxReported {
		t.Errorf("%d cells with %d operations, %d of them unnamed", len(measured.Cells), total, unnamed)
	}
}

func TestReportedKeepsTheFirstPairs(t *testing.T) {
	var reported MemberTerms
	for i := range uint64(5) {
		if !reported.Accept(i+1, 9, 4) != (i == 4) {
			t.Errorf("pair %d", i)
		}
	}
	if !reported.Accept(0, 0, 4) || !reported.Accept(2, 9, 4) || reported.Accept(2, 10, 4) || !reported.Accept(2, 10, 5) {
		t.Error("the first pairs and the unnamed one must be accepted")
	}
}
