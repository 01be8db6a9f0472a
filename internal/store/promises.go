package store

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// Promising is an optional interface of a Store (kv.Order): its answers tell the
// order of its writes (Event.At), or the revision of what is read, and it says what
// is promised of them.
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
	// read whole after a load. Where the level does not wait for that, the Admin is
	// an Applier.
	Own kv.Consistency
	// Conflicts says that an Event of a conflict has the version that stood
	// against it: 0 is then that the key was not there, and -1 that it is not told.
	Conflicts bool
	// Unsure says that a conflict, and a delete that found nothing, are also answered
	// where the write may have been done.
	Unsure bool
	// Untold says that the answers to writes do not tell their revisions: what is
	// known of their order is real time, and the revisions that reads show.
	Untold bool
	// Ranges says that an answer of several keys is of one state of the store, and
	// tells the revision of each.
	Ranges bool
	// Counted says that a version (Event.Revision, Op.Revision) counts the writes
	// of the key since it was made, so that an older one can come again. Events of
	// writes have it, and those of reads have the revision too (Event.Mod).
	Counted bool
}
