package capacity

// Options describes a search.
type Options struct {
	Goals []Goal
	// TimeLimit is the time limit of the search in seconds. The search starts no trial that would
	// end after this time.
	TimeLimit float64
	// Width is the target width of the interval, as a share of its middle. Level is the interval's
	// confidence level.
	Width, Level float64
	// InitialRate is the first rate. MinRate and MaxRate are the lowest and the highest rate that
	// may be tried.
	InitialRate, MinRate, MaxRate float64
	// Overhead is the expected time, in seconds, that a trial takes in addition to its warm-up and
	// window.
	Overhead float64
	// KnownThroughput is the store's throughput in operations per second before the search, for
	// example in the closed loop that warmed the store up. It is 0 if unknown.
	KnownThroughput float64
	// Parameter is the parameter whose largest value is searched. It is nil in a search for a rate.
	Parameter *Parameter
}

// DefaultWidth and DefaultLevel are the values that New uses if Options.Width or Options.Level is
// 0.
const (
	DefaultWidth = 0.02
	DefaultLevel = 0.95
)

// Parameter is a parameter that increases the load, such as the number of nodes. In a search for
// the parameter's largest value, all rates in this package are values of the parameter.
type Parameter struct {
	// Integer is set if the values are whole numbers.
	Integer bool
	// DueRate returns the number of operations that become due per second at a value of the
	// parameter. This number increases with the value.
	DueRate func(value float64) float64
	// MinWindow is the minimum length of a trial's window in seconds. Trials have no warm-up.
	MinWindow float64
	// FreshCluster is set if each trial uses a new store, so that an overload cannot affect the
	// next trial.
	FreshCluster bool
}
