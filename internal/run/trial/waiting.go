package trial

import "time"

// progressInterval is the interval at which the trial's progress is reported. pollInterval is the
// interval at which members are asked again if they do not agree yet.
const (
	progressInterval = 250 * time.Millisecond
	pollInterval     = 100 * time.Millisecond
)

// statusTimeout limits the duration of a request for a cluster's status.
const statusTimeout = 3 * time.Second
