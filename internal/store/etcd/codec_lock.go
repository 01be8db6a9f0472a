package etcd

import (
	"strconv"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// lock is the lock under which a transaction is made (v3lockpb): asked for
// before its first read, and given back after its commit.
type lock struct {
	state   lockState
	request []byte // a LockRequest{name: 1, lease: 2}
	key     []byte // what holds it: the name, a slash, and the lease in hexadecimal
	result  store.Event
}

type lockState uint8

const (
	unlocked    lockState = iota // none is wanted, or it was given back
	wantsLock                    // to be asked for
	locking                      // asked for
	holding                      // reads and commits go on
	wantsUnlock                  // to be given back
	unlocking                    // being given back
)

// nobody's tag is that of an unlock that no operation waits for.
const nobodysUnlock = ownTag | (1<<20-1)<<stmPairBits

func (l *lock) begin(op *store.Op) {
	if l.state = unlocked; len(op.Lock) == 0 {
		return
	}
	l.state = wantsLock
	lease := uint64(op.Session)
	size := sizeKnown(len(op.Lock)) + 1 + sizeVarint(lease)
	if cap(l.request) < size {
		l.request = make([]byte, size)
	}
	l.request = l.request[:size]
	b := putBytes(l.request, 1<<3|pbBytes, op.Lock)
	b[0] = 2<<3 | pbVarint
	putVarint(b[1:], lease)
	l.key = append(append(l.key[:0], op.Lock...), '/')
	l.key = strconv.AppendUint(l.key, lease, 16)
}

// advanceLock sends what is to be sent of the lock.
func (c *codec) advanceLock(place uint32) {
	t := &c.stm.table[place]
	if t.lock.state == locking || t.lock.state == unlocking {
		return
	}
	if c.conn.Room() == 0 {
		c.stallSTM(place)
		return
	}
	t.requests++
	if t.lock.state == wantsLock {
		t.lock.state = locking
		copy(c.conn.Call(c.lockRPC, stmTag(place, 0), uint8(c.gen<<genShift)|callLock, len(t.lock.request)), t.lock.request)
		return
	}
	t.lock.state = unlocking
	c.unlock(stmTag(place, 0), &t.lock)
}

// unlock sends an UnlockRequest{key: 1}.
func (c *codec) unlock(tag uint32, l *lock) {
	putBytes(c.conn.Call(c.unlockRPC, tag, uint8(c.gen<<genShift)|callUnlock, sizeBytes(len(l.key))), 1<<3|pbBytes, l.key)
}

// locked takes a LockResponse{header: 1, key: 2}; the transaction begins.
func (c *codec) locked(place uint32, r *h2.Reply) error {
	t := &c.stm.table[place]
	for i := 0; i < len(r.Body); {
		if r.Body[i] != 2<<3|pbBytes {
			if i = skipField(r.Body, i); i < 0 {
				return errMalformed
			}
			continue
		}
		var key []byte
		if key, i = getBytes(r.Body, i+1); i < 0 {
			return errMalformed
		}
		t.lock.key = append(t.lock.key[:0], key...)
	}
	t.lock.state = holding
	c.advanceSTM(place)
	return nil
}

// dropLock gives back the lock of a transaction that ends before its time, if
// it may have it; nobody waits for the answer. The member may still grant a lock
// that was given up, after this: then it is held until the client's next
// transaction, or until its lease ends.
func (c *codec) dropLock(t *stm) {
	if s := t.lock.state; s == locking || s == holding || s == wantsUnlock {
		if c.conn.Room() > 0 {
			c.unlock(nobodysUnlock, &t.lock)
		}
	}
	t.lock.state = unlocked
}
