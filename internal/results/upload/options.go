package upload

import "time"

// Options control an upload.
type Options struct {
	// ReadBack reads every object back and compares its SHA-256, instead of trusting the
	// store's MD5.
	ReadBack bool
	// Patience is how long no data may be transferred until the destination counts as hung;
	// 0 is ten minutes, in which a slow connection transfers the parts that are in memory.
	Patience time.Duration
	// Progress is called from one goroutine at a time; may be nil.
	Progress func(Progress)
}

// Progress is the state of an upload.
type Progress struct {
	Step         string
	Files, Of    int // completed, and in total
	Bytes, Total uint64
}

// Sent is the result of an upload.
type Sent struct {
	Where      string // the run's URL without parameters
	Files      int
	Bytes      uint64
	Anew       int // files sent by this call; the others already existed
	LeftOut    []LeftOut
	Unfinished bool // the run did not end: it is running or was killed
}
