package engine

import (
	"sync"
	"sync/atomic"
)

// limit is how many operations of an open loop may be in flight, in all loops
// together. Each loop has an account of what is free; the sum of the accounts
// and of the operations in flight is the limit. A loop whose account is empty
// takes from another's, so that one is held back only when all are.
type limit struct {
	accounts []account

	mu sync.Mutex // held to move from one account to another
}

// account is on a cache line of its own.
type account struct {
	free atomic.Int64
	_    [56]byte
}

func (m *limit) init(loops, most int) {
	m.accounts = make([]account, loops)
	for i := range m.accounts {
		m.accounts[i].free.Store(int64(most/loops + btoi(i < most%loops)))
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// take takes one for a loop, if there is one.
func (m *limit) take(loop int) bool { return takeFrom(&m.accounts[loop].free, 1) == 1 || m.move(loop) }

// give gives it back.
func (m *limit) give(loop int) { m.accounts[loop].free.Add(1) }

// move fills a loop's account with half of the richest other's, less one that
// it takes.
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

// takeFrom takes up to n, and returns how much it took.
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
