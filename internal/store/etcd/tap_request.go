package etcd

import "github.com/quorumbench/quorumbench/internal/store/call"

// tapRequest reads a request into a call's parts, as etcdserverpb/rpc.proto defines
// requests. Of what it does not know it records that it was there.
type tapRequest struct {
	t  *tap
	c  *call.Call
	ok bool
}

func (r *tapRequest) read(method string, b []byte) {
	switch method {
	case methodRange, methodRangeStream:
		r.ok = r.ranges(call.Always, b)
	case methodPut:
		r.ok = r.put(call.Always, b)
	case methodDelete:
		r.ok = r.remove(call.Always, b)
	case methodTxn:
		r.ok = r.txn(b)
	case methodWatch:
		r.ok = r.watch(b)
	case methodGrant:
		p := r.part(call.Grant, call.Always)
		r.ok = each(b, func(f fields) {
			switch f.tag {
			case 1<<3 | pbVarint:
				p.Number = int64(f.n)
			case 2<<3 | pbVarint:
				p.Lease = int64(f.n)
			}
		})
	case methodRevoke, methodKeepAlive:
		action := call.Revoke
		if method == methodKeepAlive {
			action = call.KeepAlive
		}
		p := r.part(action, call.Always)
		r.ok = each(b, func(f fields) {
			if f.tag == 1<<3|pbVarint {
				p.Lease = int64(f.n)
			}
		})
	case methodCompact:
		p := r.part(call.Compaction, call.Always)
		r.ok = each(b, func(f fields) {
			if f.tag == 1<<3|pbVarint {
				p.Number = int64(f.n)
			}
		})
	default:
		r.part(call.Other, call.Always)
		r.ok = true
	}
	r.ok = r.ok && len(r.c.Parts) <= call.MaxParts
}

// each goes through a message's fields, and reports whether it is well formed.
func each(b []byte, do func(fields)) bool {
	f := fields{b: b}
	for f.next() {
		do(f)
	}
	return f.ok()
}

// part adds a part; the pointer is good until the next.
func (r *tapRequest) part(a call.Action, b call.Branch) *call.Part {
	r.c.Parts = append(r.c.Parts, call.Part{Action: a, Branch: b})
	return &r.c.Parts[len(r.c.Parts)-1]
}

// keys sets which keys a part is of, by etcd's key and range_end.
func (r *tapRequest) keys(p *call.Part, key, end []byte) {
	if len(end) == 1 && end[0] == 0 { // all from the key on
		p.Scope, p.Key = call.From, r.t.cfg.Redactor.RedactKey(key)
		return
	}
	r.t.cfg.Redactor.SetInterval(p, key, end)
}

// ranges reads a RangeRequest{key: 1, range_end: 2, limit: 3, revision: 4,
// sort_order: 5, sort_target: 6, serializable: 7, keys_only: 8, count_only: 9}.
func (r *tapRequest) ranges(branch call.Branch, b []byte) bool {
	p := r.part(call.Read, branch)
	var key, end []byte
	ok := each(b, func(f fields) {
		switch f.tag {
		case 1<<3 | pbBytes:
			key = f.v
		case 2<<3 | pbBytes:
			end = f.v
		case 3<<3 | pbVarint:
			p.Limit = int64(f.n)
		case 4<<3 | pbVarint:
			p.Number = int64(f.n)
		case 5<<3 | pbVarint:
			p.Flags |= flag(f.n == 2, call.Descending)
		case 6<<3 | pbVarint:
			p.Flags |= flag(f.n != 0, call.Sorted)
		case 7<<3 | pbVarint:
			p.Flags |= flag(f.n != 0, call.Local)
		case 8<<3 | pbVarint:
			p.Flags |= flag(f.n != 0, call.KeysOnly)
		case 9<<3 | pbVarint:
			p.Flags |= flag(f.n != 0, call.CountOnly)
		}
	})
	r.keys(p, key, end)
	return ok
}

// put reads a PutRequest{key: 1, value: 2, lease: 3, prev_kv: 4, ignore_value: 5,
// ignore_lease: 6}.
func (r *tapRequest) put(branch call.Branch, b []byte) bool {
	p := r.part(call.Write, branch)
	var value []byte
	ok := each(b, func(f fields) {
		switch f.tag {
		case 1<<3 | pbBytes:
			p.Key = r.t.cfg.Redactor.RedactKey(f.v)
		case 2<<3 | pbBytes:
			value = f.v
		case 3<<3 | pbVarint:
			p.Lease = int64(f.n)
		case 4<<3 | pbVarint:
			p.Flags |= flag(f.n != 0, call.Before)
		case 5<<3 | pbVarint:
			p.Flags |= flag(f.n != 0, call.KeepValue)
		case 6<<3 | pbVarint:
			p.Flags |= flag(f.n != 0, call.KeepLease)
		}
	})
	p.Value = r.t.cfg.Redactor.RedactValue(value)
	return ok
}

// remove reads a DeleteRangeRequest{key: 1, range_end: 2, prev_kv: 3}.
func (r *tapRequest) remove(branch call.Branch, b []byte) bool {
	p := r.part(call.Remove, branch)
	var key, end []byte
	ok := each(b, func(f fields) {
		switch f.tag {
		case 1<<3 | pbBytes:
			key = f.v
		case 2<<3 | pbBytes:
			end = f.v
		case 3<<3 | pbVarint:
			p.Flags |= flag(f.n != 0, call.Before)
		}
	})
	r.keys(p, key, end)
	return ok
}

// txn reads a TxnRequest{compare: 1, success: 2, failure: 3}.
func (r *tapRequest) txn(b []byte) bool {
	fine := true
	ok := each(b, func(f fields) {
		switch f.tag {
		case 1<<3 | pbBytes:
			r.c.Guarded = true
			fine = fine && r.compare(f.v)
		case 2<<3 | pbBytes:
			fine = fine && r.branch(call.Then, f.v)
		case 3<<3 | pbBytes:
			fine = fine && r.branch(call.Else, f.v)
		}
		fine = fine && len(r.c.Parts) <= call.MaxParts
	})
	return ok && fine
}

// compare reads a Compare{result: 1, target: 2, key: 3, version: 4, create_revision: 5,
// mod_revision: 6, value: 7, lease: 8}.
func (r *tapRequest) compare(b []byte) bool {
	p := r.part(call.Compare, call.Always)
	return each(b, func(f fields) {
		switch f.tag {
		case 1<<3 | pbVarint:
			p.Relation = call.Relation(min(f.n, 3))
		case 2<<3 | pbVarint:
			p.Target = call.Target(min(f.n, 4))
		case 3<<3 | pbBytes:
			p.Key = r.t.cfg.Redactor.RedactKey(f.v)
		case 4<<3 | pbVarint, 5<<3 | pbVarint, 6<<3 | pbVarint:
			p.Number = int64(f.n)
		case 7<<3 | pbBytes:
			p.Value = r.t.cfg.Redactor.RedactValue(f.v)
		case 8<<3 | pbVarint:
			p.Lease = int64(f.n)
		}
	})
}

// branch reads a RequestOp{request_range: 1, request_put: 2, request_delete_range: 3,
// request_txn: 4}.
func (r *tapRequest) branch(which call.Branch, b []byte) bool {
	fine := true
	ok := each(b, func(f fields) {
		switch f.tag {
		case 1<<3 | pbBytes:
			fine = fine && r.ranges(which, f.v)
		case 2<<3 | pbBytes:
			fine = fine && r.put(which, f.v)
		case 3<<3 | pbBytes:
			fine = fine && r.remove(which, f.v)
		case 4<<3 | pbBytes: // a transaction within one is recorded as something else
			r.part(call.Other, which)
		}
	})
	return ok && fine
}

// watch reads a WatchRequest{create_request: 1, cancel_request: 2, progress_request: 3}.
func (r *tapRequest) watch(b []byte) bool {
	fine, any := true, false
	ok := each(b, func(f fields) {
		if any {
			return
		}
		switch f.tag {
		case 1<<3 | pbBytes:
			any, fine = true, r.watcher(f.v)
		case 2<<3 | pbBytes:
			any = true
			p := r.part(call.Unwatch, call.Always)
			p.Number = 1 // a watcher whose number is 0 is not named
			fine = each(f.v, func(f fields) {
				if f.tag == 1<<3|pbVarint {
					p.Number = int64(f.n) + 1
				}
			})
		}
	})
	if !any { // a progress request, or one that we do not know
		r.part(call.Other, call.Always)
	}
	return ok && fine
}

// watcher reads a WatchCreateRequest{key: 1, range_end: 2, start_revision: 3,
// progress_notify: 4, filters: 5, prev_kv: 6, fragment: 8}.
func (r *tapRequest) watcher(b []byte) bool {
	p := r.part(call.Watch, call.Always)
	var key, end []byte
	filter := func(n uint64) {
		p.Flags |= flag(n == 0, call.NoWrites) | flag(n == 1, call.NoRemovals)
	}
	ok := each(b, func(f fields) {
		switch f.tag {
		case 1<<3 | pbBytes:
			key = f.v
		case 2<<3 | pbBytes:
			end = f.v
		case 3<<3 | pbVarint:
			p.Number = int64(f.n)
		case 4<<3 | pbVarint:
			p.Flags |= flag(f.n != 0, call.Progress)
		case 5<<3 | pbVarint:
			filter(f.n)
		case 5<<3 | pbBytes:
			for _, n := range f.v {
				filter(uint64(n))
			}
		case 6<<3 | pbVarint:
			p.Flags |= flag(f.n != 0, call.Before)
		case 8<<3 | pbVarint:
			p.Flags |= flag(f.n != 0, call.Fragment)
		}
	})
	r.keys(p, key, end)
	return ok
}

func flag(is bool, f call.Flags) call.Flags {
	if is {
		return f
	}
	return 0
}

// tapAnswer reads what an answer tells of its call; what is malformed it passes over.
type tapAnswer struct{ c *call.Call }

func (a *tapAnswer) read(method string, b []byte) {
	c := a.c
	for f := (fields{b: b}); f.next(); {
		switch f.tag {
		case 1<<3 | pbBytes:
			if method != methodRangeStream {
				c.Revision = headerRevision(f.v)
			}
		case 2<<3 | pbVarint:
			switch method {
			case methodDelete:
				c.Keys = int64(f.n)
			case methodTxn:
				c.Held = f.n != 0
			case methodGrant:
				c.Lease = int64(f.n)
			}
		case 3<<3 | pbBytes:
			if method == methodTxn {
				c.Keys += keysOf(f.v)
			}
		case 4<<3 | pbVarint:
			if method == methodRange {
				c.Keys = int64(f.n)
			}
		}
	}
	if method == methodPut {
		c.Keys = 1
	}
	c.Keys = max(c.Keys, 0)
}

// keysOf is how many keys a ResponseOp{response_range: 1, response_put: 2,
// response_delete_range: 3} is of.
func keysOf(b []byte) (keys int64) {
	for f := (fields{b: b}); f.next(); {
		switch f.tag {
		case 1<<3 | pbBytes: // RangeResponse{count: 4}
			for g := (fields{b: f.v}); g.next(); {
				if g.tag == 4<<3|pbVarint {
					keys += int64(g.n)
				}
			}
		case 2<<3 | pbBytes:
			keys++
		case 3<<3 | pbBytes: // DeleteRangeResponse{deleted: 2}
			for g := (fields{b: f.v}); g.next(); {
				if g.tag == 2<<3|pbVarint {
					keys += int64(g.n)
				}
			}
		}
	}
	return max(keys, 0)
}
