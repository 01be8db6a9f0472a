package nullserver

import (
	"github.com/quorumbench/quorumbench/internal/store/null"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// Errors lists the names that error=NAME may have: ZooKeeper's codes in lower
// case.
func Errors() []string {
	return []string{
		"systemerror", "marshallingerror", "unimplemented", "operationtimeout", "badarguments", "nonode", "noauth",
		"badversion", "nodeexists", "sessionexpired", "sessionmoved", "notreadonly", "requesttimeout",
		"quotaexceeded", "throttledop",
	}
}

// errorCode is what an error's name stands for.
func errorCode(name string) (jute.Code, bool) {
	switch name {
	case "systemerror":
		return jute.SystemError, true
	case "marshallingerror":
		return jute.MarshallingError, true
	case "unimplemented":
		return jute.Unimplemented, true
	case "operationtimeout":
		return jute.OperationTimeout, true
	case "badarguments":
		return jute.BadArguments, true
	case "nonode":
		return jute.NoNode, true
	case "noauth":
		return jute.NoAuth, true
	case "badversion":
		return jute.BadVersion, true
	case "nodeexists":
		return jute.NodeExists, true
	case "sessionexpired":
		return jute.SessionExpired, true
	case "sessionmoved":
		return jute.SessionMoved, true
	case "notreadonly":
		return jute.NotReadOnly, true
	case "requesttimeout":
		return jute.RequestTimeout, true
	case "quotaexceeded":
		return jute.QuotaExceeded, true
	case "throttledop":
		return jute.ThrottledOp, true
	}
	return jute.OK, false
}

// failure is the code that an action answers instead of doing the operation.
// ZooKeeper cannot cancel one request; what comes nearest is answered.
func failure(a null.Action) jute.Code {
	switch a.Kind {
	case null.Error:
		code, _ := errorCode(a.Name)
		return code
	case null.Reset:
		if a.Name == "refused" {
			return jute.ThrottledOp
		}
		return jute.SystemError
	}
	return jute.OK
}
