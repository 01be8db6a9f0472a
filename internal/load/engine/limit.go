package engine

import (
	"sync"
	"sync/atomic"
)

// limit bounds the number of operations in flight in an open loop, over all event loops together.
// Each event loop has an account of free units. A loop whose account is empty takes units from
// another account, so a loop is blocked only when all accounts are empty.
//
// Invariant: the limit is the sum of the units in all accounts and the number of operations in
// flight that are not exempt (slot.exempt).
type limit struct {
	accounts []account

	mu sync.Mutex // held while units move from one account to another
}

// account fills a whole cache line, so that two loops never write to the same line.
type account struct {
	free atomic.Int64
	_    [56]byte
}

func (m *limit) init(loops, units int) {
	m.accounts = make([]account, loops)
	for i := range m.accounts {
		m.accounts[i].free.Store(int64(units/loops + countTrue(i < units%loops)))
	}
}

func countTrue(b bool) int {
	if b {
		return 1
	}
	return 0
}

// take takes one unit for a loop, and reports whether a unit was available.
func (m *limit) take(loop int) bool { return takeFrom(&m.accounts[loop].free, 1) == 1 || m.move(loop) }

// give returns one unit to the loop's account when an operation of the loop ends.
func (m *limit) give(loop int) { m.accounts[loop].free.Add(1) }

// move takes half the units of the account with the most units. It keeps one unit for the caller
// and adds the others to the loop's account. It returns false if all accounts are empty.
func (m *limit) move(loop int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for {
		richest, most := -1, int64(0)
		for i := range m.accounts {
			if free := m.accounts[i].free.Load(); free > most {
				richest, most = i, free
			}
		}
		if richest < 0 {
			return false
		}
		if got := takeFrom(&m.accounts[richest].free, (most+1)/2); got > 0 {
			m.accounts[loop].free.Add(got - 1)
			return true
		}
	}
}

// takeFrom takes up to n units from an account. It returns the number of units that it took.
func takeFrom(a *atomic.Int64, n int64) int64 {
	for {
		free := a.Load()
		got := min(free, n)
		if got <= 0 {
			return 0
		}
		if a.CompareAndSwap(free, free-got) {
			return got
		}
	}
}
