package upload

import "time"

// Options say how a run is sent.
type Options struct {
	// ReadBack has every object read, and its SHA-256 compared, instead of believing
	// the store's own MD5.
	ReadBack bool
	// Patience is how long nothing may come or go until the destination counts as
	// hung; 0 is ten minutes, in which a slow line takes the parts that are in memory.
	Patience time.Duration
	// Progress is called by one goroutine at a time; nil for nothing.
	Progress func(Progress)
}

// Progress is how far it is.
type Progress struct {
	Step         string
	Files, Of    int // done, and in all
	Bytes, Total uint64
}

// Sent is what came of it.
type Sent struct {
	Where      string // the run's URL, without what stands behind a question mark
	Files      int
	Bytes      uint64
	Anew       int // files that were sent by this call; the others were there
	LeftOut    []LeftOut
	Unfinished bool // the run did not end: it goes on, or was killed
}
