package upload

import "time"

// Options control an upload.
type Options struct {
	// ReadBack is set to read every object back and to compare its SHA-256, instead of relying on
	// the MD5 that the store reports.
	ReadBack bool
	// Patience is the time without any transfer after which the upload fails. 0 means ten minutes,
	// which is enough for a slow connection to transfer the parts that are in memory.
	Patience time.Duration
	// Progress is called with the progress of the upload, from one goroutine at a time. It may be
	// nil.
	Progress func(Progress)
}

// Progress is the state of an upload.
type Progress struct {
	Step         string
	Files, Of    int // number of completed files, and of all files
	Bytes, Total uint64
}

// Sent is the result of an upload.
type Sent struct {
	Where      string // URL of the run at the destination, without parameters
	Files      int
	Bytes      uint64
	Anew       int // number of files that this call sent; the other files were already there
	LeftOut    []LeftOut
	Unfinished bool // the run has not finished: it is still running or was killed
}
