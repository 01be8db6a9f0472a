package upload

import "time"

// Options control an upload.
type Options struct {
	// ReadBack makes the upload read every object back and compare its SHA-256, instead of relying
	// on the MD5 that the store reports.
	ReadBack bool
	// TransferTimeout is the time after which the upload fails if no data was transferred. 0 means
	// ten minutes, which is long enough for a slow connection to transfer the parts that are in
	// memory.
	TransferTimeout time.Duration
	// Progress is a function that the upload calls with its progress, from one goroutine at a time.
	// It may be nil.
	Progress func(Progress)
}

// Progress is the state of an upload.
type Progress struct {
	Step                  string
	Files, TotalFiles     int // number of completed files, and total number of files
	SentBytes, TotalBytes uint64
}

// SendResult is the result of an upload.
type SendResult struct {
	URL            string // URL of the run's folder at the destination, without parameters
	Files          int
	Bytes          uint64
	NewFiles       int // number of files that this call sent; the destination already had the others
	OmittedEntries []OmittedEntry
	RunUnfinished  bool // the run has not finished: it is still running or was killed
}
