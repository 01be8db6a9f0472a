package cli

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// checkTogether refuses flags that contradict each other.
func (f *benchFlags) checkTogether() error {
	switch {
	case f.given(f.kind.flag("total")) && f.given("duration"):
		return usage("--total and --duration both bound the measurement; give one of them")
	case f.rate < 0:
		return usage("--rate must be above 0, or 0 for a closed loop, not %g", f.rate)
	case f.given("arrival") && f.load.Arrival != scenario.Closed && f.rate == 0:
		return usage("--arrival %s needs a --rate above 0", f.load.Arrival)
	case f.load.Arrival == scenario.Closed && f.given("arrival") && f.rate > 0:
		return usage("--arrival closed has no --rate; drop one of them")
	case f.given("max-in-flight") && f.rate == 0:
		return usage("--max-in-flight is for an open loop, which --rate makes")
	case f.sequential && f.given("distribution") && f.load.Distribution.Name != scenario.Sequential:
		return usage("--sequential-keys and --distribution %s contradict each other; give one of them", f.load.Distribution)
	case f.targetLeader && f.given("target") && f.target.Mode != kv.LeaderOnly:
		return usage("--target-leader and --target %s contradict each other; give one of them", f.target)
	case f.load.Compact.Every < 0:
		return usage("--compact-interval is %v and cannot be negative; 0 is never", f.load.Compact.Every)
	case f.load.Compact.Behind < 0:
		return usage("--compact-index-delta is %d and cannot be negative", f.load.Compact.Behind)
	case f.autoSync < 0:
		return usage("--auto-sync-interval is %v and cannot be negative", f.autoSync)
	case f.kind.has(kv.Txn) && f.given("key-space-size") && int64(f.load.TxnKeys) > f.keySpace:
		return usage("--txn-ops is %d, and there are %d keys (--key-space-size); one transaction writes a key once", f.load.TxnKeys, f.keySpace)
	}
	if err := f.checkAsked(); err != nil {
		return err
	}
	switch {
	case f.kind.name == "range":
		return f.checkScan()
	case f.kind.name != "mixed":
		return nil
	case f.putWeight < 0 || f.getWeight < 0:
		return usage("--put-weight and --get-weight cannot be negative")
	case f.putWeight == 0 && f.getWeight == 0:
		return usage("--put-weight and --get-weight are both 0, so there is nothing to do")
	}
	return nil
}

// checkAsked refuses repeats and new connections with what they leave no room for.
func (f *benchFlags) checkAsked() error {
	switch {
	case f.repeats < 1 || f.repeats > scenario.MaxRepeats:
		return usage("--repeats must be from 1 to %d, not %d", scenario.MaxRepeats, f.repeats)
	case f.load.NewConnection && f.given("conns"):
		return usage("with --new-connection each operation has a connection of its own, so --conns means nothing; drop one of them")
	case f.repeats == 1:
		return nil
	}
	for _, one := range []struct {
		flag  string
		asked bool
	}{{"sample", f.summary.Sample}, {"precise", f.summary.Precise}, {"report-perfdash", f.perfdash}, {"check-hashkv", f.load.CompareHashes}} {
		if one.asked {
			return usage("--%s is about one measurement, and --repeats asks for %d; drop one of them", one.flag, f.repeats)
		}
	}
	return nil
}
