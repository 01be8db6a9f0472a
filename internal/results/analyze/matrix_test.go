package analyze

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// loadRow returns a row of one trial.
func loadRow(n, size, clients, connections int, mix kv.Kind) *Row {
	t := &record.Trial{Conditions: record.Conditions{Number: n, Name: fmt.Sprint("t", n), Store: "etcd", Version: "3.7.3", Operation: mix.String(), Members: 3,
		Load: scenario.Load{ValueSize: size, Clients: clients, Connections: connections, Mix: []scenario.Operation{{Kind: mix, Weight: 1}}}}, State: record.Complete}
	t.PerSecond = float64(1000 * n)
	return &Row{Trials: []*record.Trial{t}, Done: []*record.Trial{t}}
}

// Trials that differ in two parameters form a matrix. A difference in the number of connections is
// ignored if trials with few clients use one connection for each client.
func TestMatricesOfTwoParameters(t *testing.T) {
	rows := []*Row{
		loadRow(1, 64, 1, 1, kv.Put), loadRow(2, 64, 10, 10, kv.Put), loadRow(3, 64, 100, 10, kv.Put),
		loadRow(4, 4096, 1, 1, kv.Put), loadRow(5, 4096, 10, 10, kv.Put), loadRow(6, 4096, 100, 10, kv.Put),
		loadRow(7, 64, 10, 10, kv.Range),
	}
	found := Matrices(rows)
	if len(found) != 1 {
		t.Fatalf("%d matrices", len(found))
	}
	m := &found[0]
	if m.Y.Name != "clients" || m.X.Name != "value-size" || !reflect.DeepEqual(m.Y.Values, []string{"1", "10", "100"}) || !reflect.DeepEqual(m.X.Values, []string{"64 B", "4.00 KiB"}) {
		t.Errorf("the axes are %+v and %+v", m.Y, m.X)
	}
	ops := figures.Registered("ops")
	for y, row := range m.Values(&ops) {
		for x, v := range row {
			if want := float64(1000 * (1 + y + 3*x)); !v.Known || v.Number != want {
				t.Errorf("the cell of %s clients and %s is %+v, not %g", m.Y.Values[y], m.X.Values[x], v, want)
			}
		}
	}
	rows[4].Done = nil
	if v := Matrices(rows)[0].Values(&ops)[1][1]; v.Known {
		t.Errorf("a cell without a result is %+v", v)
	}
}

// Trials that differ in one or three parameters, or only along two edges of a matrix, form no
// matrix. Neither do trials with too many values of a parameter.
func TestNoMatrix(t *testing.T) {
	var large []*Row
	for n := range 2 * (maxAxisValues + 1) {
		large = append(large, loadRow(n+1, 64<<(n%2), 1+n/2, 1, kv.Put))
	}
	if found := Matrices(large[:2*maxAxisValues]); len(found) != 1 {
		t.Errorf("%d matrices with %d rows", len(found), maxAxisValues)
	}
	for name, rows := range map[string][]*Row{
		"one parameter":    {loadRow(1, 64, 1, 1, kv.Put), loadRow(2, 64, 10, 10, kv.Put), loadRow(3, 64, 100, 10, kv.Put)},
		"two edges":        {loadRow(1, 64, 1, 1, kv.Put), loadRow(2, 64, 10, 1, kv.Put), loadRow(3, 4096, 1, 1, kv.Put)},
		"three parameters": {loadRow(1, 64, 1, 7, kv.Put), loadRow(2, 64, 10, 3, kv.Put), loadRow(3, 4096, 1, 5, kv.Put), loadRow(4, 4096, 10, 5, kv.Put)},
		"the same twice":   {loadRow(1, 64, 1, 1, kv.Put), loadRow(2, 64, 10, 1, kv.Put), loadRow(3, 4096, 1, 1, kv.Put), loadRow(4, 4096, 1, 1, kv.Put)},
		"too many rows":    large,
		"none":             nil,
	} {
		if found := Matrices(rows); len(found) > 0 {
			t.Errorf("%s: %+v", name, found)
		}
	}
}
