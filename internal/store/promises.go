package store

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// Promising is an optional interface of a Store (kv.Order): its answers tell the
// order of its writes (Event.At), and it says what is promised of them.
type Promising interface {
	Promises() Promises
}

// Promises are what a store's documentation promises of its answers, and what
// they tell.
type Promises struct {
	// Of maps each promise to where the documentation makes it: a sentence, or a
	// part of one, with an address. What is not in it is not promised.
	Of map[history.Promise]string
	// Own is the level at which a read is answered from what the asked member
	// has itself, once it has all that was acknowledged before: so each member is
	// read whole after a load.
	Own kv.Consistency
	// Conflicts says that an Event of a conflict has the version that stood
	// against it: 0 is then that the key was not there.
	Conflicts bool
}
