package verdict

// Figures is everything that the rules look at. Times are in nanoseconds; a
// figure that is not known is 0, and the rule that needs it is silent.
type Figures struct {
	// The window.
	OpenLoop    bool
	Interrupted bool
	Seconds     float64 // its length
	Rate        float64 // open loop: operations due a second, as asked for

	// Operations due in the window.
	Due          uint64
	Succeeded    uint64 // ended with an answer that is no error
	Failed       uint64 // ended in an error
	Timed        uint64 // times found in the histograms, of successes and errors
	Misses       uint64
	WrongAnswers uint64
	// Done is the successes done inside the window, whenever they were due.
	Done uint64

	// Times from due to the end, of successes and errors together.
	TotalNS float64 // their sum
	// LongestNS is the longest of them and of those that were in flight when
	// the window opened.
	LongestNS float64
	// Medians of the successes alone.
	ServiceP50NS  float64
	ResponseP50NS float64

	// The load.
	Clients int // closed loop
	// MeanInFlight is the time-weighted mean of operations in progress.
	MeanInFlight   float64
	MaxInFlight    int // open loop: the limit
	Capped         uint64
	CarriedIn      uint64
	CarriedInAgeNS int64 // of the oldest
	Writes         bool  // some operations write
	Deletes        bool  // some operations remove keys
	Preloaded      bool  // every key existed before the window
	ValueSize      int   // bytes

	// The generator and its machine.
	Loops          int // event loops
	LoopCPUNS      int64
	RunDelayNS     int64 // how long the loops' threads waited for a processor
	Slices         int64 // in how many turns on one
	LongestPauseNS int64
	LatenessP99NS  float64 // open loop: sent - due
	ThrottledNS    int64   // how long the generator's control group was held back
	StolenShare    float64 // of the machine's processor time, 0 to 1

	// The cluster.
	LostMembers []string // by name: those that ended or stopped answering
	TermChanges int      // elections seen from the start of the window to its end

	// Durability.
	DurabilityKnown bool
	FileSystem      string // of the members' data folders
	Volatile        bool   // that file system forgets at power loss, as tmpfs does
	Unsynced        bool   // the store was told not to sync
	VolatileMeant   bool   // the scenario says that this is meant
}

// errors is the share of operations due that failed.
func (f *Figures) errors() float64 { return float64(f.Failed) / float64(f.Due) }

// durable reports whether writes were synced to something that keeps them.
func (f *Figures) durable() bool { return !f.Volatile && !f.Unsynced }
