package cli

// benchPage is how many keys `range --paginate` reads at a time, as etcd's
// benchmark does.
const benchPage = 10_000

// registerScan registers how `range` reads.
func (f *benchFlags) registerScan(r flags) {
	r.toggle("prefix", &f.prefix, "all keys that begin with KEY; without KEY all there are")
	r.toggle("count-only", &f.load.Scan.CountOnly, "how many keys there are, and not the keys")
	r.toggle("keys-only", &f.load.Scan.KeysOnly, "keys without their values")
	r.toggle("stream", &f.load.Scan.Streamed, "as a stream of answers (etcd 3.7 and later)")
	r.toggle("paginate", &f.paginate, "10000 keys at a time until all are read, as one operation")
}

// scanFlag is the first flag given that changes how a range is read.
func (f *benchFlags) scanFlag() string {
	for _, name := range []string{"count-only", "keys-only", "stream", "paginate"} {
		if f.given(name) {
			return "--" + name
		}
	}
	return "these flags"
}

// checkScan refuses ways of reading that contradict each other.
func (f *benchFlags) checkScan() error {
	s := &f.load.Scan
	switch {
	case f.paginate && f.limit > 0:
		return usage("--paginate and --limit contradict each other; give one of them")
	case s.CountOnly && s.KeysOnly:
		return usage("--keys-only and --count-only contradict each other; give one of them")
	case f.paginate && s.Streamed:
		return usage("--paginate and --stream contradict each other; give one of them")
	case f.paginate && s.CountOnly:
		return usage("--paginate reads keys and --count-only does not; give one of them")
	case s.Streamed && s.CountOnly:
		return usage("--stream reads keys and --count-only does not; give one of them")
	}
	return nil
}
